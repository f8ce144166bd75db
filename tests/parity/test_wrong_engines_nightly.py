"""Wrong engines that take minutes to compile, and all of them in single precision."""

import pytest
from parity import test_wrong_engines

pytestmark = pytest.mark.nightly

CELLS = [
    ("torch-xla", "all", "float64", 31),
    ("jax", "deep", "float64", 5),
    ("torch", "all", "float32", 31),
    ("tensorflow-mirrored", "all", "float32", 30),
    ("jax", "all", "float32", 31),
]
test_every_wrong_engine_is_refused_for_its_reason = (
    test_wrong_engines.test_every_wrong_engine_is_refused_for_its_reason
)
