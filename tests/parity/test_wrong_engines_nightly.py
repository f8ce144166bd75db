"""The gate refuses wrong engines of PyTorch/XLA, of deep models in JAX, and in single precision."""

import pytest

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("backend", "precision", "which"),
    [
        ("torch-xla", "float64", "all"),
        ("jax", "float64", "deep"),
        ("torch", "float32", "all"),
        ("tensorflow-mirrored", "float32", "all"),
        ("jax", "float32", "all"),
    ],
)
def test_every_wrong_engine_is_refused_for_its_reason(
    gate_of_wrong_engines, backend, precision, which
):
    facts = gate_of_wrong_engines(backend, precision, which)
    assert facts["tried"] >= 5
    assert facts["unexpected"] == {}
