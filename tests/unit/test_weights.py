"""Initial weights: the frameworks' own rules, one draw, one digest."""

import math
from importlib import import_module

import numpy as np
import pytest

from paragone.models.weights import digest, draw, parameter_count, trainable

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
        "0.conv2d.bias": 1 / math.sqrt(100),
        "2.dense.kernel": 1 / math.sqrt(320),
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
    if initializer == "pytorch":  # normal
        assert weights["3.embedding.embeddings"].std() == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("initializer", BOUNDS)
def test_rules_are_those_of_the_frameworks(initializer):
    """The interval that the framework itself fills, by its own layer."""
    drawn = draw(SHAPES, initializer, seed=0)["2.dense.kernel"]
    if initializer == "pytorch":
        own = import_module("torch").nn.Linear(320, 50).weight.detach().numpy()
    else:
        own = np.asarray(import_module("keras").initializers.GlorotUniform(seed=1)((320, 50)))
    assert np.abs(drawn).max() == pytest.approx(np.abs(own).max(), rel=0.01)
    assert drawn.std() == pytest.approx(own.std(), rel=0.03)


def test_a_draw_is_a_function_of_seed_and_rule_alone():
    np.random.seed(1)  # noqa: NPY002 - the global generator is what is tested
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = digest(draw(SHAPES, "keras", 5))
    assert first == digest(draw(SHAPES, "keras", 5))
    assert first not in (digest(draw(SHAPES, "keras", 6)), digest(draw(SHAPES, "pytorch", 5)))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


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


def test_statistics_are_no_parameters():
    assert not trainable("1.batch_norm.moving_variance")
    assert trainable("1.batch_norm.gamma")
    shapes = {name: shape for name, shape in SHAPES.items() if name[0] in "012"}
    counted = parameter_count(draw(shapes, "keras", 0))
    assert counted == 2000 + 20 + 20 + 20 + 16_000 + 50
