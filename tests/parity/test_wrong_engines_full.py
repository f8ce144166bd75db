"""Wrong engines of PyTorch on the deep model, and of TensorFlow and JAX, in double precision."""

import pytest
from parity import test_wrong_engines

pytestmark = pytest.mark.full

CELLS = [
    ("torch", "deep", "float64", 7),
    ("tensorflow-mirrored", "all", "float64", 30),
    ("jax", "shallow", "float64", 26),
]
test_every_wrong_engine_is_refused_for_its_reason = (
    test_wrong_engines.test_every_wrong_engine_is_refused_for_its_reason
)
