"""Processes killed at random moments, again and again: a run ends with the weights of one left alone."""

import itertools
import os
import random
import signal
import subprocess
import time
import uuid
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from faults.killing import alike
from nightly.conftest import random_spec
from workspace import CELLS, environment, succeed, train_command

from paragone.records import record, run_metrics

KILLS = 4  # of each cell
MARK = "PARAGONE_TEST_MARK"  # in the environment of all processes that a test starts
ALL_CELLS = [*CELLS, ("torch-compile", 1), ("keras-fit", 2)]


def marked(mark: str) -> list[psutil.Process]:
    """The living processes that a test has started."""
    living = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
    return living


def none_left(mark: str) -> bool:
    end = time.monotonic() + 20
    while left := marked(mark):
        if time.monotonic() > end:
            return False
        psutil.wait_procs(left, timeout=1)
    return True


def kill_in(seconds: float, line: list[str], draw: random.Random, log: Path) -> bool:
    """Start a run and kill launcher, a worker or all of it after `seconds`; False if it had ended."""
    mark = uuid.uuid4().hex
    with (
        open(log, "a") as out,
        subprocess.Popen(line, env=environment(**{MARK: mark}), stdout=out, stderr=out) as run,
    ):
        try:
            run.wait(seconds)
            return False
        except subprocess.TimeoutExpired:
            workers = [process.pid for process in marked(mark) if process.ppid() == run.pid]
            victims = [[run.pid], [draw.choice(workers or [run.pid])], [run.pid, *workers]]
            for pid in draw.choice(victims):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            run.wait(60)
    assert none_left(mark)
    return True


@pytest.mark.injects("launcher, one worker, or all of them killed")
@pytest.mark.parametrize("cell", ALL_CELLS, ids=str)
def test_killed_at_random_it_ends_alike(tiny, tmp_path, cell):
    """Each run is killed and started again until it ends."""
    spec, whole = random_spec(*cell), tmp_path / "whole"
    succeed(train_command(spec, tiny, whole, "launch"), timeout=600)
    expected = record.read(whole / "record.json")
    seconds = run_metrics.end_to_end(expected)
    shared = set(os.listdir("/dev/shm"))
    kills = 0
    for seed in itertools.count():
        draw, killed = random.Random(seed), tmp_path / f"killed-{seed}"
        line = train_command(spec, tiny, killed, "launch")
        for _ in range(min(8, KILLS - kills)):
            kills += kill_in(draw.uniform(0, 1.1) * seconds, line, draw, tmp_path / "log")
            if (killed / "record.json").exists():
                break
        succeed(line, timeout=600)
        alike(expected, record.read(killed / "record.json"))
        predicted = [np.load(folder / "predictions.npz") for folder in (whole, killed)]
        assert all(np.array_equal(*(each[name] for each in predicted)) for name in predicted[0])
        assert {path.name for path in killed.iterdir()} == {"predictions.npz", "record.json"}
        if kills == KILLS:
            break
    assert set(os.listdir("/dev/shm")) <= shared
