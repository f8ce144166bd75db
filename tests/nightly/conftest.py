"""Data and runs that several long campaigns share."""

import pytest
from workspace import Arrays, changed, make_spec, small_copy

from paragone.config.run_spec import Spec

# The others compile the deep model for a minute.
DEEP = {"torch", "torch-ddp", "tensorflow-mirrored"}


@pytest.fixture(scope="session")
def tiny(small, tmp_path_factory) -> Arrays:
    """The first 400 training and 64 test images."""
    return small_copy(small, tmp_path_factory.mktemp("tiny"), train=400, test=64)


def random_spec(backend: str, replicas: int) -> Spec:
    """Augmentation, momentum and, in the deep model, dropout: draws and a state in every step."""
    name, steps = ("wide-resnet", 2) if backend in DEEP else ("fashion-cnn", 10)
    spec = make_spec(name, backend, replicas, global_batch=20, epochs=8, steps_per_epoch=steps)
    workload = {
        "optimizer": {"name": "sgd", "momentum": 0.9},
        "augmentation": {"shift": 0.1, "flip": True},
    }
    if name == "wide-resnet":
        workload["model"] = spec.workload.model | {"dropout": 0.3}
    return changed(spec, workload)
