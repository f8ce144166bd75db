"""A killed run goes on from its last checkpoint and ends as if nothing had happened."""

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from privileged import fill, small_disk
from workspace import (
    CELLS,
    Arrays,
    call,
    environment,
    make_spec,
    refused,
    small_copy,
    succeed,
    train_command,
    wait_for,
)

from paragone.analysis.compliance import checks
from paragone.config.run_spec import Spec
from paragone.records import record
from paragone.records.compliance import rules

EPOCHS = 6
ADAM = {
    "optimizer": {"name": "adam", "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "learning_rate": {"base": 0.001, "decay": [{"after": 3, "factor": 0.5}]},
}
QUICK_CELL = ("torch-ddp", 2)
# Checkpoints as of ("jax", 2) and ("tensorflow-mirrored", 2); their processes meet in test_replicas.py.
NIGHTLY_CELLS = [("jax-multiprocess", 2), ("tensorflow-multiworker", 2)]
LONG = [pytest.mark.nightly, pytest.mark.long]
FULL = [pytest.mark.full, pytest.mark.long]  # not in `make faults` without FULL=1, either


def tier(cell: tuple[str, int]) -> list[pytest.MarkDecorator]:
    """The marks of a cell: one is in `make test`, one more in `make faults`."""
    if cell == QUICK_CELL:
        return []
    if cell == ("tensorflow-mirrored", 2):
        return [pytest.mark.full]
    return LONG if cell in NIGHTLY_CELLS else FULL


EAGER = ("torch", 1)
# PyTorch/XLA compiles the deep model for a minute.
RANDOM_CELLS = [
    EAGER,
    pytest.param(("tensorflow-mirrored", 1), marks=LONG),
    pytest.param(("tensorflow-mirrored", 2), marks=LONG),
    pytest.param(("torch-ddp", 2), marks=LONG),
]
# EAGER resumes with the same optimizer and with draws: that is the same and more.
KILLED_CELLS = [pytest.param(cell, marks=tier(cell)) for cell in CELLS if cell != EAGER]


def spec_of(backend: str, replicas: int):
    """Batch norm's statistics and Adam's moments: all the state that a checkpoint must hold."""
    spec = make_spec(
        "fashion-cnn", backend, replicas, global_batch=200, epochs=EPOCHS, steps_per_epoch=10
    )
    return replace(spec, workload={**spec.workload, **ADAM})


def random_spec_of(backend: str, replicas: int):
    """That, and dropout and augmentation: draws of the framework and of the host in every step."""
    spec = make_spec(
        "wide-resnet", backend, replicas, global_batch=20, epochs=EPOCHS, steps_per_epoch=2
    )
    model = {**spec.workload["model"], "dropout": 0.3}
    return replace(spec, workload={**spec.workload, **ADAM, "model": model})


@pytest.fixture(scope="module")
def tiny(small, tmp_path_factory):
    """The first 200 training and 64 test images."""
    return small_copy(small, tmp_path_factory.mktemp("tiny"), train=200, test=64)


def checkpoints(folder: Path) -> list[Path]:
    return list(folder.glob("checkpoints/*/epoch-*"))


def start_and_kill(line: list[str], folder: Path, number: int = signal.SIGKILL) -> None:
    """Send a signal to the trainer as soon as its first checkpoint is there."""
    with subprocess.Popen(
        line, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        wait_for(lambda: checkpoints(folder), process)
        process.send_signal(number)
        process.communicate()
    assert process.returncode == -number
    assert not (folder / "record.json").exists()
    assert checkpoints(folder)


KILLED = pytest.mark.injects(
    "1 kills",
    "a trainer or launcher killed after its first checkpoint",
    "SIGKILL; then the same command",
)


@KILLED
@pytest.mark.parametrize("cell", KILLED_CELLS, ids=str)
def test_killed_run_resumes_to_the_same_bits(small, tmp_path, cell):
    resumes_to_the_same_bits(spec_of(*cell), small, tmp_path)


@KILLED
@pytest.mark.parametrize("cell", RANDOM_CELLS, ids=str)
def test_killed_run_with_dropout_and_augmentation_resumes_too(tiny, tmp_path, cell):
    resumes_to_the_same_bits(random_spec_of(*cell), tiny, tmp_path)


def resumes_to_the_same_bits(spec: Spec, arrays: Arrays, tmp_path: Path) -> None:
    """A run, and the same one killed after its first checkpoint and called again, end alike.

    The second has a speed window, the first has none.
    """
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    program = "launch" if spec.workers > 1 else "train"
    succeed(train_command(spec, arrays, whole, program))
    line = train_command(spec, arrays, killed, program, window_seconds=0.1)
    start_and_kill(line, killed)
    output = succeed(line)

    one, two = record.read(whole / "record.json"), record.read(killed / "record.json")
    assert two.model == one.model
    assert one.model.final_weights != one.model.initial_weights
    assert two.run == one.run
    for measured, again in zip(one.epochs, two.epochs, strict=True):
        for key in ("epoch", "learning_rate", "steps", "train_loss", "test_accuracy"):
            assert getattr(again, key) == getattr(measured, key)
    with np.load(whole / "predictions.npz") as first, np.load(killed / "predictions.npz") as second:
        assert all(np.array_equal(first[name], second[name]) for name in first.files)

    assert len(two.processes) == 2 * spec.workers
    first, second = two.processes[0], two.processes[-1]
    assert first.first_epoch == 1
    assert 1 < second.first_epoch <= EPOCHS
    assert first.started < second.started
    assert one.window == []
    assert sum(part.steps for part in two.window) >= 20
    assert first.ended < second.started
    assert len(first.epochs) == second.first_epoch - 1
    assert len(two.processes[spec.workers].epochs) == EPOCHS - len(first.epochs)
    invalid = [rule for rule in checks.OF_ONE if rules.table()[rule].severity == rules.INVALID]
    assert [rule for rule in invalid if list(checks.OF_ONE[rule](two))] == []
    assert f"resumed after epoch {second.first_epoch - 1}" in output
    assert not (killed / "checkpoints").exists()
    assert sorted(path.name for path in killed.iterdir()) == ["predictions.npz", "record.json"]


@pytest.mark.injects(
    "1 kills",
    "a trainer killed in its speed window",
    "SIGKILL after the last epoch",
    lost="an epoch and the window",
)
@pytest.mark.full
def test_a_run_killed_in_its_speed_window_repeats_the_window(small, tmp_path):
    """And its last epoch: checkpoints are those of training."""
    line = train_command(spec_of("torch", 1), small, tmp_path, window_seconds=600)
    with subprocess.Popen(line, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert any(f"epoch {EPOCHS}/{EPOCHS}" in text for text in process.stdout)
        process.kill()
    assert not (tmp_path / "record.json").exists()
    short = train_command(spec_of("torch", 1), small, tmp_path, window_seconds=0.1)
    assert f"resumed after epoch {EPOCHS - 1}" in succeed(short)
    made = record.read(tmp_path / "record.json")
    assert made.clocks.window < 60
    assert [process.first_epoch for process in made.processes] == [1, EPOCHS]
    assert made.window


@pytest.mark.injects(
    "1 kills", "a trainer that a scheduler ends", "SIGTERM after the first checkpoint"
)
@pytest.mark.full
def test_terminated_run_resumes_too(small, tmp_path):
    """What a scheduler sends first is no different."""
    line = train_command(spec_of("torch", 1), small, tmp_path)
    start_and_kill(line, tmp_path, signal.SIGTERM)
    succeed(line)
    assert len(record.read(tmp_path / "record.json").processes) == 2


def test_another_specification_does_not_resume(small, tmp_path):
    spec = spec_of("torch", 1)
    start_and_kill(train_command(spec, small, tmp_path), tmp_path)
    succeed(train_command(replace(spec, seed=1), small, tmp_path))
    made = record.read(tmp_path / "record.json")
    assert len(made.processes) == 1
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.injects(
    "1 kills",
    "a run started again while its trainer is stopped",
    "SIGSTOP; the second is refused by name",
)
def test_second_trainer_is_refused_while_the_first_lives(small, tmp_path):
    line = train_command(spec_of("torch", 1), small, tmp_path)
    with subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL) as first:
        wait_for(lambda: checkpoints(tmp_path), first)
        first.send_signal(signal.SIGSTOP)
        try:
            refused(call(line), f"process {first.pid} on ", str(tmp_path))
            assert not (tmp_path / "record.json").exists()
        finally:
            first.kill()


@pytest.mark.injects(
    "1 kills",
    "Snakemake killed, its trainer stopped, a full disk of logs",
    "SIGKILL, SIGSTOP, a full tmpfs",
)
@pytest.mark.full
@pytest.mark.long
def test_killed_snakemake_goes_on_when_it_is_called_again(fashion, checkout):
    """SIGKILL of snakemake leaves its trainer behind; the next calls say so, then resume."""
    made = checkout()
    made.config["data"]["folder"] = str(fashion.folder)
    made.only("xla_fashion_cnn", ["torch"], {"steps_per_epoch": 10}, epochs=5, steps_per_epoch=10)
    line = ("results/tables/runs.csv", "--cores", "2")
    first = made.start(*line)
    runs = made / "results/runs"
    wait_for(lambda: list(runs.glob("*/checkpoints/*/epoch-*")), first)
    (lock,) = runs.glob("*/checkpoints/lock")
    trainer = int(lock.read_text().split()[1])
    os.kill(trainer, signal.SIGSTOP)
    try:
        beside = made.snakemake(*line)
        assert beside.returncode == 1
        assert f"process {first.pid} on {os.uname().nodename} writes these results" in beside.stdout
        first.kill()
        first.wait()
        assert not list(runs.glob("*/record.json"))
        second = made.snakemake(*line)
        assert second.returncode == 1
        assert f"process {trainer} on " in second.stdout
        assert "Training " not in second.stdout, "nothing starts beside a trainer that lives"
        assert list(runs.glob("*/checkpoints/*/epoch-*")), "the checkpoints must survive"
    finally:
        os.kill(trainer, signal.SIGKILL)
    (run,) = runs.iterdir()
    with small_disk(made / "results/logs/runs", "64k") as disk:
        fill(disk)  # the run is worth more than its log
        target = f"results/runs/{run.name}/record.json"
        third = made.snakemake(target, "--cores", "2", PYTHONPROFILEIMPORTTIME="1")  # on stderr
    assert third.returncode == 0, third.stdout
    assert "resumed after epoch" in third.stdout
    assert "No space left on device" in third.stdout
    assert len(record.read(run / "record.json").processes) == 2
    assert not list(runs.glob("*/checkpoints"))
    last = made.snakemake(*line)
    assert last.returncode == 0, last.stdout
    assert made.jobs(*line) == {}
