"""Wrong engines that take minutes to compile, other protocols, and all of them in single precision."""

import pytest
from parity import test_wrong_engines

pytestmark = pytest.mark.nightly

CELLS = [
    ("jax", "cosine", "float64", 30),
    ("tensorflow-mirrored", "cosine", "float64", 30),
    ("torch-xla", "fashion-cnn", "float64", 42),
    ("torch-xla", "wide-resnet", "float64", 8),
    ("jax", "wide-resnet", "float64", 5),
    ("tensorflow-mirrored", "wide-resnet", "float64", 6),
    ("torch", "fashion-cnn", "float32", 43),
    ("torch", "wide-resnet", "float32", 7),
    ("tensorflow-mirrored", "fashion-cnn", "float32", 43),
    ("tensorflow-mirrored", "wide-resnet", "float32", 6),
    ("jax", "fashion-cnn", "float32", 45),
    ("jax", "wide-resnet", "float32", 5),
]
test_every_wrong_engine_is_refused_for_its_reason = (
    test_wrong_engines.test_every_wrong_engine_is_refused_for_its_reason
)
