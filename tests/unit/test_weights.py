"""Initial weights: the frameworks' own rules, one draw, one digest, a canonical name for every weight."""

import math
from importlib import import_module

import numpy as np
import pytest
import torch
from torch import nn
from workspace import make_spec, refusing

from paragone.models import torch as of_torch
from paragone.models.weights import digest, draw, parameter_count, starting

SHAPES = {
    "0.conv2d.kernel": (5, 5, 4, 20),
    "0.conv2d.bias": (20,),
    "1.batch_norm.gamma": (20,),
    "1.batch_norm.beta": (20,),
    "1.batch_norm.moving_mean": (20,),
    "1.batch_norm.moving_variance": (20,),
    "2.dense.kernel": (320, 50),
    "2.dense.bias": (50,),
    "3.embedding.embeddings": (1000, 50),
    "4.depthwise_conv2d.kernel": (3, 3, 64, 1),
}
# Bounds by hand: 1/sqrt(fan in); sqrt(6 / (fan in + fan out)). A depthwise kernel sees one channel.
BOUNDS = {
    "pytorch": {
        "0.conv2d.kernel": 1 / math.sqrt(100),
        "2.dense.bias": 1 / math.sqrt(320),
        "4.depthwise_conv2d.kernel": 1 / 3,
    },
    "keras": {
        "0.conv2d.kernel": math.sqrt(6 / (100 + 500)),
        "0.conv2d.bias": 0,
        "2.dense.kernel": math.sqrt(6 / 370),
        "2.dense.bias": 0,
        "3.embedding.embeddings": 0.05,
    },
    "xavier": {"2.dense.kernel": math.sqrt(6 / 370), "2.dense.bias": 1 / math.sqrt(320)},
}


@pytest.mark.parametrize("initializer", BOUNDS)
def test_values_fill_their_interval_and_batch_norm_starts_as_the_identity(initializer):
    weights = draw(SHAPES, initializer, seed=3)
    assert all(values.dtype == np.float32 for values in weights.values())
    for name, bound in BOUNDS[initializer].items():
        values = weights[name]
        assert np.abs(values).max() <= bound * (1 + 1e-6)
        assert values.max() >= 0.75 * bound
        assert values.min() <= -0.75 * bound
        if values.size > 1000:
            assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.05)
    for part, value in (("gamma", 1), ("beta", 0), ("moving_mean", 0), ("moving_variance", 1)):
        assert np.array_equal(weights[f"1.batch_norm.{part}"], np.full(20, value, np.float32))
    assert parameter_count(weights) == 2_020 + 40 + 16_050 + 50_000 + 576  # without statistics
    if initializer != "keras":  # normal
        assert weights["3.embedding.embeddings"].std() == pytest.approx(1, rel=0.02)


WEIGHTS = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.zeros(1, np.float32)}


@pytest.mark.parametrize(
    "other",
    [
        {**WEIGHTS, "a": np.nextafter(WEIGHTS["a"], np.float32(9), dtype=np.float32)},
        {"a": WEIGHTS["a"], "c": WEIGHTS["b"]},
        {**WEIGHTS, "a": WEIGHTS["a"].reshape(3, 2)},
        dict(reversed(WEIGHTS.items())),
    ],
    ids=["value", "name", "shape", "order"],
)
def test_a_digest_sees_every_change_and_no_memory_layout(other):
    assert digest(other) != digest(WEIGHTS)
    assert digest({**WEIGHTS, "a": np.asfortranarray(WEIGHTS["a"])}) == digest(WEIGHTS)


keras = import_module("keras")
import_module("jax").config.update("jax_platforms", "cpu")  # else it asks every plug-in for devices
jnp, nnx = import_module("jax.numpy"), import_module("flax.nnx")
torch_models = import_module("paragone.models.torch")
keras_weights = import_module("paragone.models.tensorflow")
jax_weights = import_module("paragone.models.jax")

CELL = {"0.lstm.kernel": (70, 120), "0.lstm.recurrent_kernel": (30, 120), "0.lstm.bias": (120,)}


def test_recurrent_layers_start_as_in_their_framework():
    of_keras, pytorch = (list(draw(CELL, rule, 5).values()) for rule in ("keras", "pytorch"))
    assert np.abs(of_keras[0]).max() == pytest.approx(math.sqrt(6 / 190), rel=0.05)
    assert of_keras[1] @ of_keras[1].T == pytest.approx(np.eye(30), abs=1e-6)
    assert of_keras[2].tolist() == [0] * 30 + [1] * 30 + [0] * 60  # that of the forget gate
    for values in pytorch:
        assert np.abs(values).max() == pytest.approx(1 / math.sqrt(30), rel=0.15)
        assert np.abs(values).max() <= 1 / math.sqrt(30)


class OfTorch(nn.Module):
    """Layers of one shape, and free parameters, two of one name, the second frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.scale = nn.Parameter(torch.zeros(2, 1)), nn.Parameter(torch.ones(1))
        self.first, self.second, self.inner = nn.Linear(4, 4), nn.Linear(4, 4), nn.Module()
        self.inner.scale = nn.Parameter(torch.randn(30, 30), requires_grad=False)


class OfFlax(nnx.Module):
    """The same, whose layers are in another order and have other names, as a token has."""

    def __init__(self) -> None:
        rngs = nnx.Rngs(0)
        self.scale, self.place = nnx.Param(jnp.ones(1)), nnx.Param(jnp.zeros((2, 1)))
        self.b, self.a = nnx.Linear(4, 4, rngs=rngs), nnx.Linear(4, 4, rngs=rngs)
        self.inner = nnx.Dict(scale=jax_weights.Frozen(rngs.params.normal((30, 30))))


class OfKeras(keras.Model):
    """Likewise, in Keras."""

    def __init__(self) -> None:
        super().__init__(name="m")
        self.b, self.a = keras.layers.Dense(4, name="b"), keras.layers.Dense(4, name="a")
        self.place = self.add_weight(shape=(2, 1), initializer="zeros", name="place")
        self.scale = self.add_weight(shape=(1,), initializer="ones", name="scale")
        self.inner = keras.layers.Layer()
        self.inner.add_weight(shape=(30, 30), name="scale")
        self.inner.trainable = False

    def call(self, x):
        return self.b(self.a(x))


PAIRS = {"a": "first", "b": "second", "m/a": "first", "m/b": "second"}
PAIRS |= {"place": "token", "m/place": "token"}


def of_keras() -> keras.Model:
    model = OfKeras()
    model(np.zeros((1, 4)))
    return model


def test_layers_and_free_parameters_that_are_paired_by_name_have_one_name_and_one_order():
    of_each = [
        [*framework.canonical_entries(model, PAIRS)]
        for framework, model in (
            (torch_models, OfTorch()),
            (keras_weights, of_keras()),
            (jax_weights, OfFlax()),
        )
    ]
    shapes = [{name: layout.shape for name, _, layout in entries} for entries in of_each]
    expected = {
        "first.dense.kernel": (4, 4),
        "first.dense.bias": (4,),
        "scale 1.parameter.values": (1,),
        "scale 2.parameter.values (frozen)": (30, 30),
        "second.dense.kernel": (4, 4),
        "second.dense.bias": (4,),
        "token.parameter.values": (2, 1),
    }
    assert [[*each.items()] for each in shapes] == [[*expected.items()]] * 3
    fresh = torch_models.export(of_each[0])
    weights, _ = starting(fresh, make_spec("fashion-cnn", "torch"), None)
    assert weights["scale 1.parameter.values"].tolist() == [1]  # one value is the model's own
    assert weights["scale 2.parameter.values (frozen)"].std() == pytest.approx(0.02, rel=0.1)
    torch_models.load_weights(of_each[0], weights)
    again = torch_models.export(of_each[0])
    assert digest(again) == digest(weights)


def test_a_pair_that_the_model_of_pytorch_lacks_is_refused():
    with refusing(
        "model.pairs",
        "no layer or free parameter 'third'",
        "write one of first, second, scale, inner.scale, token",
    ):
        torch_models.canonical_entries(OfTorch(), {"c": "third"})


def test_a_second_bias_that_is_frozen_at_zero_is_none():
    layer = nn.LSTM(2, 3)
    assert len(torch_models.export(torch_models.canonical_entries(layer))) == 4
    layer.bias_hh_l0.requires_grad_(False)
    assert len(torch_models.export(torch_models.canonical_entries(layer))) == 4
    layer.bias_hh_l0.zero_()
    names = torch_models.export(torch_models.canonical_entries(layer))
    assert [*names] == ["0.lstm.kernel", "0.lstm.recurrent_kernel", "0.lstm.bias"]


def test_a_norm_that_starts_at_zero_stays_there():
    spec = make_spec("fashion-cnn", "torch")
    gamma, ones = "1.batch_norm.gamma", np.ones(3, np.float32)
    for start in (ones, np.zeros(3)):
        fresh = {"0.dense.kernel": np.zeros((2, 3)), gamma: start, "1.batch_norm.beta": np.zeros(3)}
        weights, _ = starting(fresh, spec, None)
        assert np.array_equal(weights[gamma], start)
        assert weights["0.dense.kernel"].any()


@pytest.mark.parametrize(
    ("words", "layer"),
    {
        "has no shape before the first call": nn.LazyLinear(3),
        "is complex": nn.Linear(2, 3, dtype=torch.complex64),
    }.items(),
)
def test_weights_that_cannot_be_compared_are_refused_with_the_remedy(words, layer):
    with refusing("model: weight 'weight'", words):
        of_torch.require_arrays(layer)


def test_a_shared_weight_is_one_array_whose_padding_index_keeps_its_zeros():
    words, back = nn.Embedding(9, 4, padding_idx=2), nn.Linear(4, 9, bias=False)
    back.weight = words.weight
    fresh = of_torch.export(of_torch.canonical_entries(nn.Sequential(words, back)))
    (values,) = starting(fresh, make_spec("fashion-cnn", "torch"), None)[0].values()
    assert [row for row in range(9) if not values[row].any()] == [2]
