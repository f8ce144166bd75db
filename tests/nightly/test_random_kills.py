"""Processes killed at random moments, again and again: a run ends with the weights of one left alone."""

import itertools
import os
import random
import signal
import subprocess
import time
import uuid
from pathlib import Path

import numpy as np
import psutil
import pytest
from faults.killing import alike
from msgspec.structs import replace
from workspace import CELLS, environment, make_spec, small_copy, succeed, train_command

from paragone.config.run_spec import Spec
from paragone.records import record, run_metrics

KILLS = 4  # of each cell
MARK = "PARAGONE_TEST_MARK"  # in the environment of all processes that a test starts
ALL_CELLS = [*CELLS, ("torch-compile", 1), ("keras-fit", 2)]
VICTIMS = ("the launcher", "one worker", "all of them")
DEEP = {
    "torch",
    "torch-ddp",
    "tensorflow-mirrored",
}  # the others compile the deep model for a minute


@pytest.fixture(scope="module")
def tiny(small, tmp_path_factory):
    """The first 400 training and 64 test images."""
    return small_copy(small, tmp_path_factory.mktemp("tiny"), train=400, test=64)


def spec_of(backend: str, replicas: int) -> Spec:
    """Augmentation, momentum and, in the deep model, dropout: draws and a state in every step."""
    name, steps = ("wide-resnet", 2) if backend in DEEP else ("fashion-cnn", 10)
    spec = make_spec(name, backend, replicas, global_batch=20, epochs=8, steps_per_epoch=steps)
    workload = {
        **spec.workload,
        "optimizer": {"name": "sgd", "momentum": 0.9},
        "augmentation": {"shift": 0.1, "flip": True},
    }
    if name == "wide-resnet":
        workload["model"] = {**workload["model"], "dropout": 0.3}
    return replace(spec, workload=workload)


def marked(mark: str) -> list[psutil.Process]:
    """The living processes that a test has started."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def none_left(mark: str, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while left := marked(mark):
        if time.monotonic() > end:
            return False
        psutil.wait_procs(left, timeout=1)
    return True


def kill_in(seconds: float, line: list[str], mark: str, draw: random.Random, log: Path) -> str:
    """Start a run and kill a part of it after `seconds`; the victim, or "" if the run had ended."""
    with (
        open(log, "a") as out,
        subprocess.Popen(line, env=environment(**{MARK: mark}), stdout=out, stderr=out) as run,
    ):
        try:
            run.wait(seconds)
            return ""
        except subprocess.TimeoutExpired:
            victim = draw.choice(VICTIMS)
            workers = [one for one in marked(mark) if one.pid != run.pid and one.ppid() == run.pid]
            chosen = {
                "the launcher": [run.pid],
                "one worker": [draw.choice(workers or [run]).pid],
                "all of them": [run.pid, *(one.pid for one in workers)],
            }[victim]
            for pid in chosen:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            run.wait(60)
            return victim


@pytest.mark.injects(
    "1 kills",
    "launcher, one worker, or all of them killed",
    "SIGKILL at a uniformly random moment of 8 epochs with augmentation and dropout",
)
@pytest.mark.parametrize("cell", ALL_CELLS, ids=str)
def test_killed_at_random_it_ends_alike(tiny, tmp_path, cell, record_property):
    """Each run is killed and started again until it ends."""
    spec, whole = spec_of(*cell), tmp_path / "whole"
    succeed(train_command(spec, tiny, whole, "launch"), timeout=600)
    expected = record.read(whole / "record.json")
    seconds = run_metrics.end_to_end(expected)
    shared = set(os.listdir("/dev/shm"))
    kills = 0
    for seed in itertools.count():
        draw, killed = random.Random(seed), tmp_path / f"killed-{seed}"
        mark, log = uuid.uuid4().hex, tmp_path / f"{seed}.log"
        line = train_command(spec, tiny, killed, "launch", window_seconds=0.1)
        for _ in range(min(8, KILLS - kills)):
            kills += bool(kill_in(draw.uniform(0, 1.1) * seconds, line, mark, draw, log))
            assert none_left(mark)
            if (killed / "record.json").exists():
                break
        succeed(line, timeout=600)
        alike(expected, record.read(killed / "record.json"))
        with np.load(whole / "predictions.npz") as one, np.load(killed / "predictions.npz") as two:
            assert all(np.array_equal(one[name], two[name]) for name in one.files)
        assert {path.name for path in killed.iterdir()} == {"predictions.npz", "record.json"}
        if kills == KILLS:
            break
    assert set(os.listdir("/dev/shm")) <= shared
    record_property("times", kills)
