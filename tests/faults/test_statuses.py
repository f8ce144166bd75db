"""A run that cannot be completed is a result: recorded, and no crash. In figures: test_holes.py."""

from dataclasses import replace

import numpy as np
import pytest
from workspace import INDUCTOR, call, make_spec, succeed, train_command

from paragone.records import record, run_metrics
from paragone.training.loop import DIVERGED

pytestmark = pytest.mark.full


def diverging(backend: str):
    spec = make_spec("fashion-cnn", backend, global_batch=200, epochs=3, steps_per_epoch=5)
    return replace(spec, workload={**spec.workload, "learning_rate": {"base": 1e6}})


@pytest.mark.parametrize("backend", ["torch", "tensorflow-mirrored", "torch-xla", "jax"])
def test_diverging_run_is_a_record(small, tmp_path, backend):
    output = succeed(train_command(diverging(backend), small, tmp_path))
    made = record.read(tmp_path / "record.json")
    assert made.status == "diverged"
    assert made.reason.startswith("the training loss of epoch")
    assert "diverged" in output
    assert 1 <= len(made.epochs) <= 3
    losses = [row.train_loss for row in made.epochs]
    assert losses[-1] is None or losses[-1] > DIVERGED
    assert all(loss <= DIVERGED for loss in losses[:-1])
    assert not (tmp_path / "checkpoints").exists()
    with np.load(tmp_path / "predictions.npz") as arrays:
        names = {"images", "labels", "predictions", "probabilities", "class_names"}
        assert set(arrays.files) == names


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"backend": {"device": "gpu"}}, "gpu"),
        ({"backend": {"device": "tpu"}}, "tpu"),
        ({"replicas": 2}, "2 replica(s) on cpu"),
    ],
    ids=["gpu", "tpu", "replicas"],
)
def test_absent_device_is_a_record(small, tmp_path, changes, words):
    spec = make_spec("fashion-conv", "torch", global_batch=200, epochs=1, steps_per_epoch=1)
    if "backend" in changes:
        changes = {"backend": {**spec.backend, **changes["backend"]}}
    spec = replace(spec, **changes)
    output = succeed(train_command(spec, small, tmp_path))
    made = record.read(tmp_path / "record.json")
    assert made.status == "unavailable"
    assert words in made.reason
    assert made.reason in output
    assert made.devices is None
    assert made.epochs == []
    assert made.window == []
    assert len(made.data.manifest_sha256) == 64
    with np.load(tmp_path / "predictions.npz") as arrays:
        assert len(arrays["labels"]) == 0


@pytest.mark.parametrize("backend", ["tensorflow-mirrored", "torch-xla", "jax"])
def test_absent_gpu_in_other_frameworks(small, tmp_path, backend):
    spec = make_spec("fashion-conv", backend, global_batch=200, epochs=1, steps_per_epoch=1)
    spec = replace(spec, backend={**spec.backend, "device": "gpu"})
    done = call(train_command(spec, small, tmp_path))
    assert done.returncode == 0, done.stderr
    assert record.read(tmp_path / "record.json").status == "unavailable"


def test_without_a_compiler_nothing_runs_eager(small, tmp_path):
    spec = make_spec("fashion-conv", "torch-compile", global_batch=200, epochs=1, steps_per_epoch=1)
    done = call(train_command(spec, small, tmp_path), CXX="no-such-compiler")
    assert done.returncode == 0, done.stderr
    made = record.read(tmp_path / "record.json")
    assert made.status == "unavailable"
    assert "C++ compiler" in made.reason


@pytest.mark.nightly
def test_a_program_is_compiled_once_and_a_changed_one_anew(small, tmp_path):
    def programs(name: str, batch: int) -> tuple[int, int]:
        spec = make_spec(
            "fashion-conv", "torch-compile", global_batch=batch, epochs=1, steps_per_epoch=2
        )
        cache = INDUCTOR | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
        done = call(train_command(spec, small, tmp_path / name), timeout=300, **cache)
        assert done.returncode == 0, done.stderr
        (process,) = record.read(tmp_path / name / "record.json").processes
        return process.programs.compiled, process.programs.cached

    first, again, other = programs("first", 50), programs("again", 50), programs("other", 100)
    assert first[0] >= 2  # training and evaluation
    assert again == (0, first[0] + first[1])
    assert other[0] >= 2


def test_target_ends_the_run(small, tmp_path):
    spec = make_spec("fashion-cnn", "torch", global_batch=200, epochs=30, steps_per_epoch=10)
    target = {"accuracy": 0.3, "patience": 2, "stop": True}
    spec = replace(spec, workload={**spec.workload, "target": target})
    succeed(train_command(spec, small, tmp_path))
    made = record.read(tmp_path / "record.json")
    found = run_metrics.time_to_target(made)
    assert found.reached is True
    assert found.epoch == len(made.epochs) - 1 < 29
    assert found.first_hit == run_metrics.elapsed(made)[-2]
