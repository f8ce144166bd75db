"""Runs in which something goes wrong after their first checkpoint, and what is then left of them."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from workspace import (
    Arrays,
    changed,
    environment,
    error_in,
    make_spec,
    succeed,
    train_command,
    wait_for,
)

from paragone.analysis import compliance
from paragone.config.run_spec import Spec
from paragone.records import record
from paragone.records.run_record import RunRecord

EPOCHS = 6
KILLED = pytest.mark.injects("a trainer or launcher killed after its first checkpoint")
ADAM = {
    "optimizer": {"name": "adam", "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7, "accumulate": 3},
    "learning_rate": {"base": 0.001, "decay": [{"after": 3, "factor": 0.5}]},
}
# The others compile the deep model for a minute.
DEEP = {"torch", "torch-ddp", "tensorflow-mirrored"}


def long_spec(backend: str = "torch", replicas: int = 1, epochs: int = 500) -> Spec:
    """A run that a test ends, or a short one."""
    return make_spec(
        "fashion-cnn", backend, replicas, global_batch=200, epochs=epochs, steps_per_epoch=10
    )


def small_spec(backend: str, replicas: int = 1) -> Spec:
    """Statistics of batch norm, moments and an unfinished mean of gradients: all that is state."""
    spec = long_spec(backend, replicas, EPOCHS)
    return changed(spec, ADAM)


def random_spec(backend: str, replicas: int = 1, epochs: int = EPOCHS) -> Spec:
    """Return a run with augmentation and, in the deep model, dropout, which draw in every step."""
    name, steps = ("wide-resnet", 2) if backend in DEEP else ("fashion-cnn", 10)
    spec = make_spec(name, backend, replicas, global_batch=20, epochs=epochs, steps_per_epoch=steps)
    spec = changed(spec, ADAM | {"augmentation": {"shift": 0.1, "flip": True}})
    deep = {"model": spec.workload.model | {"dropout": 0.3}, "evaluation": {"first": 64}}
    return changed(spec, deep) if name == "wide-resnet" else spec


def stream_spec(backend: str) -> Spec:
    """A small GPT on windows at random offsets; tests are drawn for each epoch, dropout in every step."""
    spec = make_spec("nanogpt-cpu", backend, global_batch=8, epochs=EPOCHS, steps_per_epoch=5)
    smaller = {"layers": 1, "heads": 2, "width": 16, "dropout": 0.2}
    return changed(spec, {"model": spec.workload.model | smaller})


def checkpoints(folder: Path) -> list[Path]:
    return list(folder.glob("checkpoints/*/epoch-*"))


def printed(folder: Path) -> Path:
    """Both streams of a run that `started` started: a full pipe that nobody reads would stop it."""
    return folder.with_name(f"{folder.name}.txt")


@contextmanager
def started(
    line: list[str],
    folder: Path,
    reached: Callable = lambda _, folder: checkpoints(folder),
    **options: object,
) -> Iterator[subprocess.Popen]:
    """A run that writes to `folder`, from its first checkpoint on; killed at the end of the block.

    `reached`: from when on else, given the run and its folder; `options` are those of `Popen`.
    """
    options = {"env": environment()} | options
    with (
        printed(folder).open("w") as out,
        subprocess.Popen(line, stdout=out, stderr=out, **options) as run,
    ):
        try:
            wait_for(lambda: reached(run, folder), run)
            yield run
        finally:
            run.kill()


def message(folder: Path) -> str:
    """The only error of a run, which left neither a record nor a meeting folder."""
    assert not (folder / "record.json").exists()
    assert not list(folder.glob("workers-*"))
    return error_in(printed(folder).read_text())


def resumes_to_the_same_bits(spec: Spec, arrays: Arrays, tmp_path: Path) -> None:
    """Assert that a run, and the same one killed after its first checkpoint and started again, end alike."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    program = "launch" if spec.workers > 1 else "train"
    succeed(train_command(spec, arrays, whole, program))
    line = train_command(spec, arrays, killed, program)
    with started(line, killed) as process:
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (killed / "record.json").exists()
    output = succeed(line)

    resumed = ended_alike(whole, killed)
    assert resumed.model.final_weights != resumed.model.initial_weights
    first, second = resumed.processes[0], resumed.processes[-1]
    assert len(resumed.processes) == 2 * spec.workers
    assert first.first_epoch == 1 < second.first_epoch <= EPOCHS
    assert first.started < first.ended < second.started
    assert len(first.epochs) == second.first_epoch - 1
    assert f"resumed after epoch {second.first_epoch - 1}" in output


def ended_alike(whole: Path, again: Path) -> RunRecord:
    """Assert that two folders have the same run but for clocks, and nothing else; its valid record."""
    first, second = (record.read(folder / "record.json") for folder in (whole, again))
    assert (second.run, second.model) == (first.run, first.model)
    for measured, repeated in zip(first.epochs, second.epochs, strict=True):
        for key in ("epoch", "learning_rate", "steps", "train_loss", "test_loss", "test_accuracy"):
            assert getattr(repeated, key) == getattr(measured, key)
    table = compliance.table()
    breaches = [breach.rule for breach in compliance.of_run(second)]
    assert compliance.INVALID not in {table.loc[rule, "severity"] for rule in breaches}
    predicted = [np.load(folder / "predictions.npz") for folder in (whole, again)]
    assert all(np.array_equal(*(each[name] for each in predicted)) for name in predicted[0])
    assert sorted(path.name for path in again.iterdir()) == ["predictions.npz", "record.json"]
    return second
