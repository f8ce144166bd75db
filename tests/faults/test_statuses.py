"""A run that cannot be completed is a result: recorded, and no crash. In figures: test_holes.py."""

import numpy as np
import pytest
from msgspec.structs import replace
from workspace import call, make_spec, succeed, train_command

from paragone.records import record, run_metrics
from paragone.training.loop import DIVERGED

pytestmark = pytest.mark.full


@pytest.mark.parametrize("backend", ["tensorflow-mirrored", "jax"])  # PyTorch: test_holes.py
def test_a_diverging_run_is_a_record(small, tmp_path, backend):
    spec = make_spec("fashion-cnn", backend, global_batch=200, epochs=3, steps_per_epoch=5)
    spec = replace(spec, workload={**spec.workload, "learning_rate": {"base": 1e6}})
    output = succeed(train_command(spec, small, tmp_path))
    made = record.read(tmp_path / "record.json")
    assert made.status == "diverged"
    assert made.reason in output
    losses = [row.train_loss for row in made.epochs]
    assert 1 <= len(losses) <= 3
    assert losses[-1] is None or losses[-1] > DIVERGED
    assert all(loss <= DIVERGED for loss in losses[:-1])
    assert not (tmp_path / "checkpoints").exists()
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
    spec = make_spec("fashion-conv", backend, global_batch=200, epochs=1, steps_per_epoch=1)
    spec = replace(spec, replicas=replicas, backend={**spec.backend, "device": device})
    output = succeed(train_command(spec, small, tmp_path, program))
    made = record.read(tmp_path / "record.json")
    assert made.status == "unavailable"
    assert made.reason in output
    assert "gpu" in made.reason.lower() or backend == "torch"
    assert (made.devices, made.epochs, made.window) == (None, [], [])
    assert len(made.data.manifest_sha256) == 64
    with np.load(tmp_path / "predictions.npz") as arrays:
        assert len(arrays["labels"]) == 0


def test_without_a_compiler_nothing_runs_eager(small, tmp_path):
    spec = make_spec("fashion-conv", "torch-compile", global_batch=200, epochs=1, steps_per_epoch=1)
    done = call(train_command(spec, small, tmp_path), CXX="no-such-compiler")
    assert done.returncode == 0, done.stderr
    made = record.read(tmp_path / "record.json")
    assert made.status == "unavailable"
    assert "C++ compiler" in made.reason


def test_a_target_ends_the_run(small, tmp_path):
    spec = make_spec("fashion-cnn", "torch", global_batch=200, epochs=30, steps_per_epoch=10)
    target = {"accuracy": 0.3, "patience": 2, "stop": True}
    spec = replace(spec, workload={**spec.workload, "target": target})
    succeed(train_command(spec, small, tmp_path))
    made = record.read(tmp_path / "record.json")
    reached = run_metrics.time_to_target(made)
    assert reached.reached is True
    assert reached.epoch == len(made.epochs) - 1 < 29
    assert reached.first_hit == run_metrics.elapsed(made)[-2]
