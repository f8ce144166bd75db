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
}
# Bounds by hand: 1/sqrt(fan in); sqrt(6 / (fan in + fan out)).
PYTORCH = {
    "0.conv2d.kernel": 1 / math.sqrt(100),
    "0.conv2d.bias": 1 / math.sqrt(100),
    "2.dense.kernel": 1 / math.sqrt(320),
    "2.dense.bias": 1 / math.sqrt(320),
}
KERAS = {
    "0.conv2d.kernel": math.sqrt(6 / (100 + 500)),
    "0.conv2d.bias": 0,
    "2.dense.kernel": math.sqrt(6 / 370),
    "2.dense.bias": 0,
}


@pytest.mark.parametrize(("initializer", "bounds"), [("pytorch", PYTORCH), ("keras", KERAS)])
def test_values_fill_their_interval(initializer, bounds):
    weights = draw(SHAPES, initializer, seed=3)
    for name, bound in bounds.items():
        values = weights[name]
        assert np.abs(values).max() <= bound * (1 + 1e-6)
        assert values.max() >= 0.75 * bound
        assert values.min() <= -0.75 * bound
        if values.size > 1000:
            assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.05)


@pytest.mark.parametrize("initializer", ["pytorch", "keras"])
def test_batch_norm_starts_as_the_identity(initializer):
    weights = draw(SHAPES, initializer, seed=0)
    for part, value in (("gamma", 1), ("beta", 0), ("moving_mean", 0), ("moving_variance", 1)):
        assert np.array_equal(weights[f"1.batch_norm.{part}"], np.full(20, value, np.float32))


@pytest.mark.parametrize("initializer", ["pytorch", "keras"])
def test_frameworks_rules_are_those_of_the_frameworks(initializer):
    """The interval that the framework itself fills, by its own layer."""
    name = "2.dense.kernel"
    drawn = draw(SHAPES, initializer, seed=0)[name]
    if initializer == "pytorch":
        torch = import_module("torch")
        own = torch.nn.Linear(320, 50).weight.detach().numpy()
    else:
        keras = import_module("keras")
        own = np.asarray(keras.initializers.GlorotUniform(seed=1)((320, 50)))
    assert np.abs(drawn).max() == pytest.approx(np.abs(own).max(), rel=0.01)
    assert drawn.std() == pytest.approx(own.std(), rel=0.03)


def test_embeddings():
    shapes = {"0.embedding.embeddings": (1000, 50)}
    normal = draw(shapes, "pytorch", 0)["0.embedding.embeddings"]
    assert normal.std() == pytest.approx(1, rel=0.02)
    uniform = draw(shapes, "keras", 0)["0.embedding.embeddings"]
    assert 0.0499 < np.abs(uniform).max() <= 0.05


def test_depthwise_kernels_see_one_channel():
    shapes = {"0.depthwise_conv2d.kernel": (3, 3, 64, 1)}
    values = draw(shapes, "pytorch", 0)["0.depthwise_conv2d.kernel"]
    assert 0.95 / 3 < np.abs(values).max() <= 1 / 3 * (1 + 1e-6)


def test_draw_is_a_function_of_the_seed():
    assert digest(draw(SHAPES, "keras", 5)) == digest(draw(SHAPES, "keras", 5))
    assert digest(draw(SHAPES, "keras", 5)) != digest(draw(SHAPES, "keras", 6))
    assert digest(draw(SHAPES, "keras", 5)) != digest(draw(SHAPES, "pytorch", 5))
    assert all(values.dtype == np.float32 for values in draw(SHAPES, "keras", 5).values())


def test_drawing_does_not_touch_numpys_own_generator():
    np.random.seed(1)  # noqa: NPY002 - the global generator is what is tested
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    draw(SHAPES, "keras", 5)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("change", ["value", "name", "shape", "order"])
def test_digest_sees_every_change(change):
    weights = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.zeros(1, np.float32)}
    other = dict(weights)
    if change == "value":
        other["a"] = np.nextafter(weights["a"], np.float32(9), dtype=np.float32)
    elif change == "name":
        other = {"a": weights["a"], "c": weights["b"]}
    elif change == "shape":
        other["a"] = weights["a"].reshape(3, 2)
    else:
        other = dict(reversed(weights.items()))
    assert digest(other) != digest(weights)


def test_digest_does_not_depend_on_the_memory_layout():
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert digest({"a": np.asfortranarray(values)}) == digest({"a": values})


def test_statistics_are_no_parameters():
    assert not trainable("1.batch_norm.moving_variance")
    assert trainable("1.batch_norm.gamma")
    weights = draw(SHAPES, "keras", 0)
    assert parameter_count(weights) == 2000 + 20 + 20 + 20 + 16_000 + 50
