"""Hundreds of runs in one call of Snakemake, and call after call: nothing grows, nothing is left."""

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from statistics import median

import psutil
import pytest
from campaign import FULL
from nightly.test_random_kills import MARK, none_left
from workspace import Arrays, Checkout, environment

pytestmark = pytest.mark.nightly

RUNS, CALLS = (500, 20) if FULL else (8, 2)
TABLE = "results/tables/xla_fashion_cnn/runs.parquet"


def prepared(made: Checkout, fashion: Arrays, runs: int) -> None:
    """One experiment of so many runs of a step each."""
    made.config["data"]["folder"] = str(fashion.folder)
    made.only("xla_fashion_cnn", ["torch"], epochs=1, steps_per_epoch=1, repeats=runs)


def size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def called(made: Checkout, log: Path, **variables: str) -> list[tuple[float, int, int, int]]:
    """Call Snakemake; MB, descriptors, threads and descendants of its process, second by second."""
    seen = []
    line = [sys.executable, "-m", "snakemake", TABLE, "--cores", "2"]
    with (
        log.open("a") as out,
        subprocess.Popen(
            line, cwd=made.folder, env=environment(**variables), stdout=out, stderr=out
        ) as run,
    ):
        process = psutil.Process(run.pid)
        while run.poll() is None:
            try:
                family = len(process.children(recursive=True))
                memory = process.memory_info().rss / 2**20
                seen.append((memory, process.num_fds(), process.num_threads(), family))
            except psutil.Error:  # it ends
                pass
            time.sleep(1)
    assert run.returncode == 0, log.read_text()[-5000:]
    return seen


@pytest.mark.injects(
    "6 long",
    "many runs in one call, and call after call",
    "runs of one step; then calls that each find one run missing; Snakemake's process looked at each second",
)
def test_nothing_grows(fashion, checkout, tmp_path, record_property):
    made, mark = checkout(), uuid.uuid4().hex
    prepared(made, fashion, RUNS)
    temporary, log = tmp_path / "temporary", tmp_path / "log"
    temporary.mkdir()
    variables = {MARK: mark, "TMPDIR": str(temporary)}
    shared = set(os.listdir("/dev/shm"))
    seen = called(made, log, **variables)
    records = sorted(made.folder.glob("results/runs/*/record.json"))
    assert len(records) == RUNS
    begun, ended = seen[len(seen) // 4 : len(seen) // 2], seen[-len(seen) // 4 :]
    before, after = ([median(each) for each in zip(*part, strict=True)] for part in (begun, ended))
    assert after[0] - before[0] < 50, "MB of memory"
    assert after[1] - before[1] < 10, "descriptors"
    assert after[2] - before[2] < 10, "threads"
    assert after[3] - before[3] < 10, "descendants"
    state, words = size(made / ".snakemake"), log.stat().st_size
    assert words / RUNS < 4000
    for record in records[:CALLS]:
        (made / TABLE).unlink()
        record.unlink()
        called(made, log, **variables)
        assert record.exists()
    grown = (size(made / ".snakemake") - state) / CALLS
    assert grown < 50_000
    assert none_left(mark)
    assert list(temporary.iterdir()) == []
    assert set(os.listdir("/dev/shm")) <= shared
    record_property("times", RUNS + CALLS)
    record_property(
        "seen",
        f"{RUNS} runs and {CALLS} calls: {before[0]:.0f} to {after[0]:.0f} MB, {before[1]:.0f} to "
        f"{after[1]:.0f} descriptors, {before[2]:.0f} to {after[2]:.0f} threads from the second to the last "
        f"quarter; {words / RUNS / 1000:.1f} kB of log per run, {state / RUNS / 1000:.1f} kB of `.snakemake` "
        f"per run and {grown / 1000:.1f} kB more per call",
    )


@pytest.mark.injects(
    "6 long",
    "two calls on one results folder at once",
    "a second `snakemake` while the first trains",
)
def test_of_two_calls_one_is_refused(fashion, checkout):
    made = checkout()
    prepared(made, fashion, 2)
    first = made.start(TABLE, "--cores", "2")
    while not list(made.folder.glob("results/logs/**/*")):
        assert first.poll() is None
        time.sleep(0.1)
    second = made.snakemake(TABLE, "--cores", "2")
    assert second.returncode == 1
    assert f"process {first.pid} on {os.uname().nodename} writes these results" in second.stdout
    output, _ = first.communicate(timeout=300)
    assert first.returncode == 0, output
