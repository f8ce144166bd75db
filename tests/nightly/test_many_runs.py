"""Many runs in one call of Snakemake, and call after call: nothing grows, nothing is left."""

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import pytest
from nightly.test_random_kills import MARK, none_left
from workspace import Arrays, Checkout, environment

SEEDS, CALLS = 5, 3
# Ten short runs for each seed: eight of one process, which share their first steps, and two of two workers.
SINGLE = {"backend": "torch", "replicas": 1, "tuning": ["as-installed", "tuned"]}
MATRIX = [SINGLE | {"steps_per_epoch": steps} for steps in (2, 3, 4, 5)]
MATRIX += [{"backend": "torch-ddp", "replicas": 2, "epochs": epochs} for epochs in (1, 2)]
RUNS = 10 * SEEDS
TABLE = "results/tables/xla_fashion_cnn/runs.parquet"
# Two runs at once, of a thread each: nothing here is a speed.
PAIRS = ["--cores", "2", "--set-threads", "train=1", "--resources", "machine=200"]
# What may grow from the second to the last quarter of the runs, of Snakemake's process.
GROWTH = {"MB": 50, "descriptors": 10, "threads": 10, "processes": 10}


def sample(process: psutil.Process) -> dict[str, float]:
    held = {"descriptors": process.num_fds(), "threads": process.num_threads()}
    held["processes"] = len(process.children(recursive=True))
    return held | {"MB": process.memory_info().rss / 1e6}


def called(made: Checkout, log: Path, temporary: Path) -> list[tuple[int, dict[str, float]]]:
    """Call Snakemake; every second the runs that have ended, and what it holds."""
    mark, samples = uuid.uuid4().hex, []
    line = [sys.executable, "-m", "snakemake", TABLE, *PAIRS]
    variables = environment(**{MARK: mark, "TMPDIR": str(temporary)})
    with (
        log.open("a") as out,
        subprocess.Popen(line, cwd=made.folder, env=variables, stdout=out, stderr=out) as run,
    ):
        process = psutil.Process(run.pid)
        while run.poll() is None:
            ended = len(list(made.folder.glob("results/runs/*/record.json")))
            try:
                samples.append((ended, sample(process)))
            except psutil.Error:  # it ends
                break
            time.sleep(1)
    assert run.returncode == 0, log.read_text()[-5000:]
    assert none_left(mark)
    assert list(temporary.iterdir()) == []
    return samples


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def prepared(made: Checkout, fashion: Arrays, **changes: Any) -> None:
    """One experiment of short runs, without speed windows."""
    made.config["data"]["folder"] = str(fashion.folder)
    few = {"epochs": 1, "steps_per_epoch": 2, "global_batch": 100}
    made.only("xla_fashion_cnn", ["torch"], **few, **changes)
    made.config["speed_window"]["seconds"] = 0
    made.configure()


@pytest.mark.injects("many runs in one call, and call after call")
def test_nothing_grows(fashion, checkout, tmp_path, record_property):
    made = checkout()
    prepared(made, fashion, matrix=MATRIX, repeats=SEEDS)
    temporary, log = tmp_path / "temporary", tmp_path / "log"
    temporary.mkdir()
    shared = set(os.listdir("/dev/shm"))
    samples = called(made, log, temporary)
    records = sorted(made.folder.glob("results/runs/*/record.json"))
    assert len(records) == RUNS
    second = [held for ended, held in samples if RUNS / 4 <= ended < RUNS / 2]
    last = [held for ended, held in samples if 3 * RUNS / 4 <= ended < RUNS]
    seen = []
    for name, most in GROWTH.items():
        before, after = (median(held[name] for held in quarter) for quarter in (second, last))
        assert after - before < most, name
        seen.append(f"{before:.0f} to {after:.0f} {name}")
    record_property("seen", ", ".join(seen))
    assert max(log.stat().st_size, size(made / "results/logs")) < 4000 * RUNS
    state = size(made / ".snakemake")
    assert state < 100_000 * RUNS
    for record in records[:CALLS]:
        (made / TABLE).unlink()
        record.unlink()
        called(made, log, temporary)
        assert record.exists()
    assert size(made / ".snakemake") - state < 50_000 * CALLS
    assert set(os.listdir("/dev/shm")) <= shared
    record_property("times", RUNS + CALLS)


@pytest.mark.injects("two calls on one results folder at once")
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
