"""What the gate says of wrong engines on PyTorch/XLA, which compiles for minutes, and in single precision."""

import pytest

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("backend", "precision"),
    [
        ("torch-xla", "float64"),
        ("torch", "float32"),
        ("tensorflow-mirrored", "float32"),
        ("jax", "float32"),
    ],
)
def test_every_wrong_engine_is_refused_but_what_rounding_hides(
    gate_of_wrong_engines, backend, precision
):
    facts = gate_of_wrong_engines(backend, precision)
    assert facts["tried"] >= 30
    assert facts["unexpected"] == {}
