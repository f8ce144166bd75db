"""The gate refuses every wrong engine of PyTorch, TensorFlow and JAX for its reason, in double precision.

PyTorch/XLA and single precision are in test_wrong_engines_nightly.py.
"""

import pytest

pytestmark = pytest.mark.full


@pytest.mark.parametrize("backend", ["torch", "tensorflow-mirrored", "jax"])
def test_every_wrong_engine_is_refused_for_its_reason(gate_of_wrong_engines, backend):
    facts = gate_of_wrong_engines(backend, "float64")
    assert facts["tried"] >= 30
    assert facts["unexpected"] == {}
