"""Processes killed at random moments, again and again: a run ends with the weights of one left alone."""

import itertools
import os
import random
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from faults.killing import ended_alike, random_spec
from workspace import CELLS, environment, succeed, train_command

from paragone.records import record, run_metrics

KILLS = 4  # of each cell
ALL_CELLS = [*CELLS, ("torch-compile", 1)]


def kill_in(seconds: float, line: list[str], draw: random.Random, log: Path) -> bool:
    """Start a run and kill launcher, a worker or all of it after `seconds`; False if it had ended."""
    with (
        open(log, "a") as out,
        subprocess.Popen(line, env=environment(), stdout=out, stderr=out) as run,
    ):
        try:
            run.wait(seconds)
            return False
        except subprocess.TimeoutExpired:
            launcher = psutil.Process(run.pid)
            family, workers = launcher.children(recursive=True), launcher.children()
            victims = [[launcher], [draw.choice(workers or [launcher])], [launcher, *workers]]
            for process in draw.choice(victims):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            run.wait(60)
    assert not psutil.wait_procs(family, 20)[1]
    return True


@pytest.mark.injects("launcher, one worker, or all of them killed")
@pytest.mark.parametrize("cell", ALL_CELLS, ids=str)
def test_killed_at_random_it_ends_alike(small, tmp_path, cell):
    """Each run is killed and started again until it ends."""
    spec, whole = random_spec(*cell, epochs=8), tmp_path / "whole"
    succeed(train_command(spec, small, whole, "launch"), timeout=600)
    seconds = run_metrics.end_to_end(record.read(whole / "record.json"))
    shared = set(os.listdir("/dev/shm"))
    kills = 0
    for seed in itertools.count():
        draw, killed = random.Random(seed), tmp_path / f"killed-{seed}"
        line = train_command(spec, small, killed, "launch")
        for _ in range(min(8, KILLS - kills)):
            kills += kill_in(draw.uniform(0, 1.1) * seconds, line, draw, tmp_path / "log")
            if (killed / "record.json").exists():
                break
        succeed(line, timeout=600)
        ended_alike(whole, killed)
        if kills == KILLS:
            break
    assert set(os.listdir("/dev/shm")) <= shared
