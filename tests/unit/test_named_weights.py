"""Every weight has a canonical name; one without is refused by name, as the parity gate would not see it."""

from importlib import import_module

import numpy as np
import pytest
from workspace import make_spec

from paragone.base.errors import UserError
from paragone.models.weights import starting

nn = import_module("torch.nn")
keras = import_module("keras")
import_module("jax").config.update("jax_platforms", "cpu")  # else it asks every plug-in for devices
nnx = import_module("flax.nnx")
torch_weights = import_module("paragone.engines.torch_weights")
keras_weights = import_module("paragone.models.keras_weights")
jax_weights = import_module("paragone.models.jax_layers")

OF_KERAS = [
    keras.layers.Input((4,)),
    keras.layers.Dense(4),
    keras.layers.GroupNormalization(2),
]
OF_FLAX = [nnx.Linear(4, 4, rngs=nnx.Rngs(0)), nnx.GroupNorm(4, 2, rngs=nnx.Rngs(0))]


@pytest.mark.parametrize(
    ("known", "model", "words"),
    [
        (
            torch_weights.known,
            nn.Sequential(nn.Linear(4, 4), nn.GroupNorm(2, 4)),
            r"'1\.weight' belongs to GroupNorm",
        ),
        (torch_weights.known, nn.MultiheadAttention(8, 2), "belongs to MultiheadAttention"),
        (keras_weights.known, keras.Sequential(OF_KERAS), r"group_norm.*belongs to a layer"),
        (jax_weights.known, nnx.Sequential(*OF_FLAX), "belongs to a layer"),
    ],
    ids=["torch", "torch attention", "keras", "flax"],
)
def test_a_weight_without_a_canonical_name_is_refused(known, model, words):
    with pytest.raises(UserError, match=words):
        known(model)


class Zebra(nnx.Module):
    """Its attributes are not in the order of the alphabet."""

    def __init__(self) -> None:
        self.second = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
        self.first = nnx.MultiHeadAttention(2, 4, decode=False, rngs=nnx.Rngs(0))


def test_flax_layers_have_the_order_of_their_assignment_and_heads_are_one_axis():
    shapes = {name: layout.shape for name, _, layout in jax_weights.named(Zebra())}
    assert shapes["0.dense.kernel"] == (3, 2)
    assert {shapes[f"{index}.dense.kernel"] for index in range(1, 5)} == {(4, 4)}
    assert shapes["4.dense.bias"] == (4,)
    for _, variable, layout in jax_weights.named(Zebra()):
        values = np.random.default_rng(0).normal(size=layout.shape)
        assert layout.native(values).shape == variable[...].shape
        assert np.array_equal(layout.canonical(layout.native(values)), values)


def test_keras_layers_inside_layers_are_named_and_heads_are_one_axis():
    inputs = keras.layers.Input((5, 4))
    inner = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(4)])
    outputs = keras.layers.MultiHeadAttention(2, 2)(inner(inputs), inputs)
    shapes = [shape for _, _, shape in keras_weights.named(keras.Model(inputs, outputs))]
    assert shapes == [(4, 8), (8,), (8, 4), (4,), *[(4, 4), (4,)] * 4]


def test_a_norm_that_starts_at_zero_stays_there():
    spec = make_spec("fashion-cnn", "torch")
    gamma, ones = "1.batch_norm.gamma", np.ones(3, np.float32)
    for start in (ones, np.zeros(3)):
        fresh = {"0.dense.kernel": np.zeros((2, 3)), gamma: start, "1.batch_norm.beta": np.zeros(3)}
        weights, _ = starting(fresh, spec, None)
        assert np.array_equal(weights[gamma], start)
        assert weights["0.dense.kernel"].any()
