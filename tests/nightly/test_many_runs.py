"""Many runs in one call of Snakemake, and call after call: nothing grows, nothing is left."""

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import psutil
import pytest
from nightly.test_random_kills import MARK, none_left
from workspace import Arrays, Checkout, environment

SEEDS, CALLS = 5, 3
# Ten short runs for each seed: eight of one process, which share their first steps, and two of two workers.
MATRIX = [
    *(
        {"backend": "torch", "replicas": 1, "tuning": ["as-installed", "tuned"]}
        | {"steps_per_epoch": steps}
        for steps in (2, 3, 4, 5)
    ),
    {"backend": "torch-ddp", "replicas": 2, "epochs": 1},
    {"backend": "torch-ddp", "replicas": 2, "epochs": 2},
]
RUNS = 10 * SEEDS
TABLE = "results/tables/xla_fashion_cnn/runs.parquet"
# Two runs at once, of a thread each: nothing here is a speed.
PAIRS = ["--cores", "2", "--set-threads", "train=1", "--resources", "machine=200"]


class Sample(NamedTuple):
    """What a call of Snakemake holds at one time; all but `runs` should stay as they are."""

    runs: int  # finished by then
    memory: float  # MB of Snakemake's process, as are descriptors and threads
    descriptors: int
    threads: int
    processes: int  # started by it, and theirs
    temporary: int  # files and folders in TMPDIR


def sample(process: psutil.Process, folder: Path, temporary: Path) -> Sample:
    return Sample(
        runs=len(list(folder.glob("results/runs/*/record.json"))),
        memory=process.memory_info().rss / 1e6,
        descriptors=process.num_fds(),
        threads=process.num_threads(),
        processes=len(process.children(recursive=True)),
        temporary=len(list(temporary.rglob("*"))),
    )


def called(made: Checkout, log: Path, temporary: Path, mark: str) -> list[Sample]:
    """Call Snakemake, and sample each second what it holds meanwhile."""
    line = [sys.executable, "-m", "snakemake", TABLE, *PAIRS]
    variables = environment(**{MARK: mark, "TMPDIR": str(temporary)})
    samples = []
    with (
        log.open("a") as out,
        subprocess.Popen(line, cwd=made.folder, env=variables, stdout=out, stderr=out) as run,
    ):
        process = psutil.Process(run.pid)
        while run.poll() is None:
            try:
                samples.append(sample(process, made.folder, temporary))
            except psutil.Error:  # it ends
                break
            time.sleep(1)
    assert run.returncode == 0, log.read_text()[-5000:]
    assert none_left(mark)
    assert list(temporary.iterdir()) == []
    return samples


def medians(samples: list[Sample], first: float, last: float) -> Sample:
    """The medians over the samples between two shares of the runs."""
    part = [each for each in samples if first * RUNS <= each.runs < last * RUNS]
    return Sample(*map(median, zip(*part, strict=True)))


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def prepared(made: Checkout, fashion: Arrays, **changes: Any) -> None:
    """One experiment of short runs, without speed windows."""
    made.config["data"]["folder"] = str(fashion.folder)
    few = {"epochs": 1, "steps_per_epoch": 2, "global_batch": 100}
    made.only("xla_fashion_cnn", ["torch"], **few, **changes)
    made.config["speed_window"]["seconds"] = 0
    made.configure()


@pytest.mark.injects(
    "6 long",
    "many runs in one call, and call after call",
    "runs of a few steps, two at once; then calls that each find one run missing; sampled each second",
)
def test_nothing_grows(fashion, checkout, tmp_path, record_property):
    made, mark = checkout(), uuid.uuid4().hex
    prepared(made, fashion, matrix=MATRIX, repeats=SEEDS)
    temporary, log = tmp_path / "temporary", tmp_path / "log"
    temporary.mkdir()
    shared = set(os.listdir("/dev/shm"))
    samples = called(made, log, temporary, mark)
    records = sorted(made.folder.glob("results/runs/*/record.json"))
    assert len(records) == RUNS
    before, after = medians(samples, 0.25, 0.5), medians(samples, 0.75, 1)
    assert after.memory - before.memory < 50
    for name in Sample._fields[2:]:
        assert getattr(after, name) - getattr(before, name) < 10, name
    assert max(log.stat().st_size, size(made / "results/logs")) < 4000 * RUNS
    state = size(made / ".snakemake")
    assert state < 100_000 * RUNS
    for record in records[:CALLS]:
        (made / TABLE).unlink()
        record.unlink()
        called(made, log, temporary, mark)
        assert record.exists()
    assert size(made / ".snakemake") - state < 50_000 * CALLS
    assert set(os.listdir("/dev/shm")) <= shared
    record_property("times", RUNS + CALLS)
    record_property("seen", f"{before.memory:.0f} to {after.memory:.0f} MB")


@pytest.mark.injects(
    "6 long",
    "two calls on one results folder at once",
    "a second `snakemake` while the first trains",
)
def test_of_two_calls_one_is_refused(fashion, checkout):
    made = checkout()
    prepared(made, fashion, repeats=2)
    first = made.start(TABLE, "--cores", "2")
    while not list(made.folder.glob("results/logs/**/*")):
        assert first.poll() is None
        time.sleep(0.1)
    second = made.snakemake(TABLE, "--cores", "2")
    assert second.returncode == 1
    assert f"process {first.pid} on {os.uname().nodename} writes these results" in second.stdout
    output, _ = first.communicate(timeout=300)
    assert first.returncode == 0, output
