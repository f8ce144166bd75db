"""A run that cannot be completed is a result: recorded, and no crash. In figures: test_holes.py."""

import numpy as np
import pytest
from workspace import call, changed, make_spec, train_command

from paragone.config.run_spec import Spec
from paragone.records import record, run_metrics
from paragone.records.run_record import RunRecord
from paragone.training.loop import DIVERGED

pytestmark = pytest.mark.full


def spec_of(workload: str, backend: str, *epochs_and_steps: int, **changes: object) -> Spec:
    """A run with other keys of its workload."""
    epochs, steps = epochs_and_steps or (1, 1)
    spec = make_spec(workload, backend, global_batch=200, epochs=epochs, steps_per_epoch=steps)
    return changed(spec, changes)


def ended(spec: Spec, status: str, small, folder, program: str = "train", **variables) -> RunRecord:
    """The record of a run of this status, whose reason is on the terminal."""
    done = call(train_command(spec, small, folder, program), **variables)
    assert done.returncode == 0, done.stderr
    made = record.read(folder / "record.json")
    assert made.status == status
    assert (made.reason or "") in done.stdout
    assert not (folder / "checkpoints").exists()
    return made


@pytest.mark.parametrize("backend", ["tensorflow-mirrored", "jax"])  # PyTorch: test_holes.py
def test_a_diverging_run_is_a_record(small, tmp_path, backend):
    spec = spec_of("fashion-cnn", backend, 3, 5, learning_rate={"base": 1e6})
    made = ended(spec, "diverged", small, tmp_path)
    losses = [row.train_loss for row in made.epochs]
    assert 1 <= len(losses) <= 3
    assert losses[-1] is None or losses[-1] > DIVERGED
    assert all(loss <= DIVERGED for loss in losses[:-1])
    with np.load(tmp_path / "predictions.npz") as arrays:
        names = {"images", "labels", "predictions", "probabilities", "class_names"}
        assert set(arrays.files) == names


@pytest.mark.parametrize(
    ("backend", "replicas", "device", "program"),
    [
        ("torch", 1, "tpu", "train"),
        ("torch", 2, "cpu", "train"),
        ("tensorflow-mirrored", 1, "gpu", "train"),
        ("jax", 1, "gpu", "train"),
        ("torch-ddp", 2, "gpu", "launch"),  # found by a worker, written by the launcher
    ],
)
def test_an_absent_device_is_a_record(small, tmp_path, backend, replicas, device, program):
    spec = spec_of("fashion-conv", backend)
    spec = changed(spec, backend={"device": device}, replicas=replicas)
    made = ended(spec, "unavailable", small, tmp_path, program)
    assert "gpu" in made.reason.lower() or backend == "torch"
    assert (made.devices, made.epochs, made.window) == (None, [], [])
    assert len(made.data.manifest_sha256) == 64
    with np.load(tmp_path / "predictions.npz") as arrays:
        assert len(arrays["labels"]) == 0


def test_without_a_compiler_nothing_runs_eager(small, tmp_path):
    spec = spec_of("fashion-conv", "torch-compile")
    made = ended(spec, "unavailable", small, tmp_path, CXX="no-such-compiler")
    assert "C++ compiler" in made.reason


def test_a_target_ends_the_run(small, tmp_path):
    target = {"accuracy": 0.3, "patience": 2, "stop": True}
    spec = spec_of("fashion-cnn", "torch", 30, 10, target=target)
    made = ended(spec, "completed", small, tmp_path)
    reached = run_metrics.time_to_target(made)
    assert reached.reached is True
    assert reached.epoch == len(made.epochs) - 1 < 29
    assert reached.first_hit == run_metrics.elapsed(made)[-2]
