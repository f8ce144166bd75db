"""Runs that are killed after their first checkpoint and started again."""

import signal
import subprocess
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from workspace import Arrays, environment, make_spec, succeed, train_command, wait_for

from paragone.analysis import compliance
from paragone.config.run_spec import Spec
from paragone.records import record
from paragone.records.compliance import rules
from paragone.records.run_record import RunRecord

EPOCHS = 6
ADAM = {
    "optimizer": {"name": "adam", "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "learning_rate": {"base": 0.001, "decay": [{"after": 3, "factor": 0.5}]},
}


def small_spec(backend: str, replicas: int = 1) -> Spec:
    """Batch norm's statistics and Adam's moments: all the state that a checkpoint must hold."""
    spec = make_spec(
        "fashion-cnn", backend, replicas, global_batch=200, epochs=EPOCHS, steps_per_epoch=10
    )
    return replace(spec, workload={**spec.workload, **ADAM})


def random_spec(backend: str, replicas: int = 1) -> Spec:
    """The same with dropout and augmentation: draws of the framework and of the host in every step."""
    spec = make_spec(
        "wide-resnet", backend, replicas, global_batch=20, epochs=EPOCHS, steps_per_epoch=2
    )
    model = {**spec.workload["model"], "dropout": 0.3}
    return replace(spec, workload={**spec.workload, **ADAM, "model": model})


def checkpoints(folder: Path) -> list[Path]:
    return list(folder.glob("checkpoints/*/epoch-*"))


def resumes_to_the_same_bits(spec: Spec, arrays: Arrays, tmp_path: Path) -> None:
    """Assert that a run, and the same one killed after its first checkpoint and started again, end alike.

    The second has a speed window and the first has none.
    """
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    program = "launch" if spec.workers > 1 else "train"
    succeed(train_command(spec, arrays, whole, program))
    line = train_command(spec, arrays, killed, program, window_seconds=0.1)
    with subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: checkpoints(killed), process)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (killed / "record.json").exists()
    output = succeed(line)

    one, two = record.read(whole / "record.json"), record.read(killed / "record.json")
    alike(one, two)
    assert one.model.final_weights != one.model.initial_weights
    with np.load(whole / "predictions.npz") as first, np.load(killed / "predictions.npz") as second:
        assert all(np.array_equal(first[name], second[name]) for name in first.files)
    first, second = two.processes[0], two.processes[-1]
    assert len(two.processes) == 2 * spec.workers
    assert first.first_epoch == 1 < second.first_epoch <= EPOCHS
    assert first.started < first.ended < second.started
    assert len(first.epochs) == second.first_epoch - 1
    assert (one.window == [], sum(part.steps for part in two.window) >= 20) == (True, True)
    assert f"resumed after epoch {second.first_epoch - 1}" in output
    assert sorted(path.name for path in killed.iterdir()) == ["predictions.npz", "record.json"]


def alike(one: RunRecord, two: RunRecord) -> None:
    """Assert that two records are those of the same run but for clocks, and that the second is valid."""
    assert two.model == one.model
    assert two.run == one.run
    for measured, again in zip(one.epochs, two.epochs, strict=True):
        for key in ("epoch", "learning_rate", "steps", "train_loss", "test_loss", "test_accuracy"):
            assert getattr(again, key) == getattr(measured, key)
    invalid = [
        rule for rule in compliance.OF_RECORD if rules.table()[rule].severity == rules.INVALID
    ]
    assert [rule for rule in invalid if list(compliance.OF_RECORD[rule](two))] == []
