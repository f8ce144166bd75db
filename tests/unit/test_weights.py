"""Initial weights: the frameworks' own rules, one draw, one digest, a canonical name for every weight."""

import math
from importlib import import_module

import numpy as np
import pytest
import torch
from torch import nn
from workspace import make_spec, refusing

from paragone.base.errors import UserError
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
nnx = import_module("flax.nnx")
torch_models = import_module("paragone.models.torch")
keras_weights = import_module("paragone.models.tensorflow")
jax_weights = import_module("paragone.models.jax")

LAYERS = keras.layers
OF_KERAS = [LAYERS.Input((4,)), LAYERS.Dense(4), LAYERS.GroupNormalization(2)]
OF_TORCH = [nn.Linear(4, 4), nn.GroupNorm(2, 4)]
OF_FLAX = [nnx.Linear(4, 4, rngs=nnx.Rngs(0)), nnx.GroupNorm(4, 2, rngs=nnx.Rngs(0))]


@pytest.mark.parametrize(
    ("framework", "model", "words"),
    [
        (torch_models, nn.Sequential(*OF_TORCH), r"'1\.weight' belongs to GroupNorm"),
        (keras_weights, keras.Sequential(OF_KERAS), r"group_norm.*belongs to a layer"),
        (jax_weights, nnx.Sequential(*OF_FLAX), "belongs to a layer"),
    ],
    ids=["torch", "keras", "flax"],
)
def test_a_weight_without_a_canonical_name_is_refused(framework, model, words):
    with pytest.raises(UserError, match=words):
        framework.require_names(model, "keras")


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
        of_torch.require_names(layer, "model")


def test_a_shared_weight_is_one_array_whose_padding_index_keeps_its_zeros():
    words, back = nn.Embedding(9, 4, padding_idx=2), nn.Linear(4, 9, bias=False)
    back.weight = words.weight
    fresh = of_torch.export(of_torch.canonical_entries(nn.Sequential(words, back)))
    (values,) = starting(fresh, make_spec("fashion-cnn", "torch"), None)[0].values()
    assert [row for row in range(9) if not values[row].any()] == [2]
