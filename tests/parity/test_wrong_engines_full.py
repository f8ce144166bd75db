"""Wrong engines of PyTorch on the deep model, and of TensorFlow and JAX on another, in double precision."""

import pytest
from parity import test_wrong_engines

pytestmark = pytest.mark.full

CELLS = [
    ("jax", "fashion-cnn", "float64", 45),
    ("tensorflow-mirrored", "fashion-cnn", "float64", 43),
    ("torch", "wide-resnet", "float64", 7),
]
test_every_wrong_engine_is_refused_for_its_reason = (
    test_wrong_engines.test_every_wrong_engine_is_refused_for_its_reason
)
