"""Processes killed at random moments, again and again: a run ends with the weights of one left alone."""

import itertools
import os
import random
import signal
import subprocess
import time
import uuid
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from faults.killing import alike
from workspace import CELLS, environment, make_spec, small_copy, succeed, train_command, wait_for

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


@pytest.mark.injects(
    "1 kills",
    "Snakemake, or it and all that it has started, killed",
    "SIGKILL at a uniformly random moment of `snakemake` of two runs; then the same command again",
)
def test_killed_snakemake_goes_on_by_the_same_command(fashion, checkout, record_property):
    """No --unlock is needed. A trainer that Snakemake left behind trains on, and a call meanwhile says so."""
    mark, draw = uuid.uuid4().hex, random.Random(0)
    made = checkout()
    made.config["data"]["folder"] = str(fashion.folder)
    made.only("xla_fashion_cnn", ["torch", "torch-ddp"], epochs=4, steps_per_epoch=2)
    target = "results/tables/xla_fashion_cnn/runs.parquet"
    line, kills = (target, "--cores", "2"), 0
    for _ in range(3):
        run = made.start(*line, **{MARK: mark})
        try:
            run.communicate(timeout=draw.uniform(1, 40))
        except subprocess.TimeoutExpired:
            kills += 1
            run.kill() if draw.random() < 0.5 else [one.kill() for one in marked(mark)]
            run.communicate()
        assert none_left(mark, seconds=120)
        if (made / target).exists():
            break
    done = made.snakemake(*line)
    assert done.returncode == 0, done.stdout
    assert (made / target).exists()
    assert not [
        *made.folder.glob("results/**/checkpoints"),
        *made.folder.glob("results/**/workers-*"),
    ]
    assert not list(made.folder.glob("results/**/.*.partial"))
    record_property("times", kills)


@pytest.mark.injects(
    "1 kills", "a run started twice at once", "two launchers; the second is refused by name"
)
def test_of_two_starts_one_goes_on(tiny, tmp_path, record_property):
    for times in range(1, 3):
        folder = tmp_path / str(times)
        spec = make_spec(
            "fashion-cnn", "torch-ddp", 2, global_batch=20, epochs=30, steps_per_epoch=10
        )
        line = train_command(spec, tiny, folder, "launch")
        errors = [tmp_path / f"{times}-{which}" for which in range(2)]
        started = []
        for path in errors:
            with path.open("w") as file:
                started.append(subprocess.Popen(line, env=environment(), stdout=file, stderr=file))
        statuses = [one.wait(180) for one in started]
        assert sorted(statuses) == [0, 1], [path.read_text() for path in errors]
        refused = errors[statuses.index(1)].read_text()
        assert "still trains this run" in refused
        assert "Traceback" not in refused
        assert {path.name for path in folder.iterdir()} == {"predictions.npz", "record.json"}
        assert record.read(folder / "record.json").status == "completed"
    record_property("times", times)


def kept_two(folder: Path) -> bool:
    return len(list(folder.glob("checkpoints/*/epoch-*"))) == 2


@pytest.mark.injects(
    "1 kills",
    "a checkpoint torn or a bit of it flipped, as by a power loss",
    "one of its files, chosen at random, between two starts of a run",
    lost="one epoch, trained again",
)
@pytest.mark.parametrize(
    "backend",
    [
        "torch",
        "tensorflow-mirrored",
        "jax",
        "torch-xla",
    ],
)
def test_a_damaged_checkpoint_costs_an_epoch(tiny, tmp_path, backend, record_property):
    spec, draw = spec_of(backend, 1), random.Random(0)
    succeed(train_command(spec, tiny, tmp_path / "whole", "launch"), timeout=600)
    for times in range(1, 3):
        folder = tmp_path / str(times)
        line = train_command(spec, tiny, folder, "launch")
        with subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL) as run:
            wait_for(partial(kept_two, folder), run)
            run.kill()
        time.sleep(0.5)  # until the worker has ended, too
        newest = max(folder.glob("checkpoints/*/epoch-*"))
        damaged = draw.choice([path for path in newest.rglob("*") if path.is_file()])
        content = bytearray(damaged.read_bytes())
        if draw.random() < 0.5:
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        else:
            content = content[: draw.randrange(len(content))]
        damaged.write_bytes(content)
        output = succeed(line, timeout=600)
        assert f"{newest}: " in output
        assert "going back one checkpoint" in output
        alike(record.read(tmp_path / "whole/record.json"), record.read(folder / "record.json"))
    record_property("times", times)
