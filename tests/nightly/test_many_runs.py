"""Hundreds of runs in one call of Snakemake, and call after call: nothing grows, nothing is left."""

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from campaign import FULL
from nightly.growth import STEADY, Sample, draw, looked_at, quarters, size
from nightly.test_random_kills import MARK, none_left
from workspace import ROOT, Arrays, Checkout, environment

pytestmark = pytest.mark.nightly

SEEDS, CALLS = (50, 20) if FULL else (1, 2)
# Of each seed ten short runs: eight of one process, which share their first steps, two of two workers.
MATRIX = [
    *(
        {"backend": "torch", "replicas": 1, "division": ["as-installed", "tuned"]}
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


def prepared(made: Checkout, fashion: Arrays, **changes: Any) -> None:
    """One experiment of short runs, without speed windows."""
    made.config["data"]["folder"] = str(fashion.folder)
    few = {"epochs": 1, "steps_per_epoch": 2, "global_batch": 100}
    made.only("xla_fashion_cnn", ["torch"], **few, **changes)
    made.config["speed_window"]["seconds"] = 0
    made.configure()


def called(made: Checkout, log: Path, temporary: Path, mark: str) -> list[Sample]:
    """Call Snakemake; what it and all that it starts hold meanwhile."""
    line = [sys.executable, "-m", "snakemake", TABLE, *PAIRS]
    variables = environment(**{MARK: mark, "TMPDIR": str(temporary)})
    with (
        log.open("a") as out,
        subprocess.Popen(line, cwd=made.folder, env=variables, stdout=out, stderr=out) as run,
    ):
        seen = looked_at(run, made.folder, temporary)
    assert run.returncode == 0, log.read_text()[-5000:]
    assert none_left(mark)
    assert list(temporary.iterdir()) == []
    return seen


@pytest.mark.injects(
    "6 long",
    "many runs in one call, and call after call",
    "runs of a few steps, two at once; then calls that each find one run missing; looked at each second",
)
def test_nothing_grows(fashion, checkout, tmp_path, record_property):
    made, mark = checkout(), uuid.uuid4().hex
    prepared(made, fashion, matrix=MATRIX, repeats=SEEDS)
    temporary, log = tmp_path / "temporary", tmp_path / "log"
    temporary.mkdir()
    shared = set(os.listdir("/dev/shm"))
    seen = called(made, log, temporary, mark)
    records = sorted(made.folder.glob("results/runs/*/record.json"))
    assert len(records) == RUNS
    before, after = quarters(seen)
    assert after.memory - before.memory < 50
    for name in STEADY[1:]:
        assert getattr(after, name) - getattr(before, name) < 10, name
    assert max(one.ports for one in seen), "nothing listened, so nothing was looked at"
    words, logs = log.stat().st_size / RUNS, size(made / "results/logs") / RUNS
    assert max(words, logs) < 4000
    states = [size(made / ".snakemake") / 1e6]
    assert states[0] / RUNS < 0.1
    for record in records[:CALLS]:
        (made / TABLE).unlink()
        record.unlink()
        called(made, log, temporary, mark)
        assert record.exists()
        states.append(size(made / ".snakemake") / 1e6)
    grown = (states[-1] - states[0]) / CALLS
    assert grown < 0.05
    assert set(os.listdir("/dev/shm")) <= shared
    if FULL:
        draw(seen, states[1:], ROOT / "docs/many_runs.svg")
    record_property("times", RUNS + CALLS)
    record_property(
        "seen",
        f"{RUNS} runs and {CALLS} calls: {before.memory:.0f} to {after.memory:.0f} MB, "
        f"{before.descriptors:.0f} to {after.descriptors:.0f} descriptors, {before.threads:.0f} to "
        f"{after.threads:.0f} threads from the second to the last quarter; no port, no temporary file left; "
        f"{(words + logs) / 1000:.1f} kB of logs and {states[0] / RUNS * 1000:.1f} kB of `.snakemake` per "
        f"run, {grown * 1000:.1f} kB of it more per call",
    )


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
