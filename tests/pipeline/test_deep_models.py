"""MobileNetV2 trained to its record where the smoke preset leaves it out: up to minutes each, by hand."""

import numpy as np
import pytest
from workspace import make_spec, succeed, train_command

from paragone.config.run_spec import requested
from paragone.records import record

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("backend", "replicas"), [("torch", 1), ("tensorflow-mirrored", 2), ("torch-xla", 1)]
)
def test_a_deep_model_is_trained_to_its_record(data_of, tmp_path, backend, replicas):
    spec = make_spec(
        "mobilenet-v2", backend, replicas, global_batch=16, epochs=2, steps_per_epoch=1
    )
    succeed(train_command(spec, data_of["cats_vs_dogs"], tmp_path, "launch"), timeout=600)
    made = record.read(tmp_path / "record.json")
    assert made.status == "completed"
    assert [row.steps for row in made.epochs] == [1, 1]
    assert made.model.initial_weights != made.model.final_weights
    assert made.devices == requested(made.spec)
    with np.load(tmp_path / "predictions.npz") as predictions:
        assert predictions["images"].shape[1:] == (32, 32, 3)
        assert len(predictions["class_names"]) == 2
