"""The gate refuses every wrong engine of PyTorch, TensorFlow and JAX for its reason, in double precision.

Others, which take minutes to compile, and single precision: test_wrong_engines_nightly.py.
"""

import pytest

pytestmark = pytest.mark.full


@pytest.mark.parametrize(
    ("backend", "which", "least"),
    [("torch", "all", 30), ("tensorflow-mirrored", "all", 30), ("jax", "shallow", 25)],
)
def test_every_wrong_engine_is_refused_for_its_reason(gate_of_wrong_engines, backend, which, least):
    facts = gate_of_wrong_engines(backend, "float64", which)
    assert facts["tried"] >= least
    assert facts["unexpected"] == {}
