"""Layers that models in flax NNX share, and the models that the engine `jax` finds by name.

The function of a model takes the shape of one example (channels last), the number of classes and the options
of the workload's `model` block, and returns a module from (batch, height, width, channels) to logits. Layers
are assigned in forward order: `paragone.models.jax_layers` relies on it.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise, product
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from paragone.base import plugins

# Keras' defaults: its running average keeps 0.99 of the old value.
KERAS_BATCH_NORM = {"momentum": 0.99, "epsilon": 1e-3}
TORCH_BATCH_NORM = {"momentum": 0.9, "epsilon": 1e-5}

# Canonical weights replace these; drawing random ones would compile a program for each shape.
ZEROS = nnx.initializers.zeros


def conv(inputs: int, outputs: int, kernel: tuple[int, ...], **options: Any) -> nnx.Conv:
    """Return a convolution without padding, unless the options of `nnx.Conv` say otherwise."""
    options = {"padding": "VALID", "kernel_init": ZEROS, "rngs": nnx.Rngs(0), **options}
    return nnx.Conv(inputs, outputs, kernel, **options)


def dense(inputs: int, outputs: int, **options: Any) -> nnx.Linear:
    """Return a dense layer with these options of `nnx.Linear`."""
    return nnx.Linear(inputs, outputs, kernel_init=ZEROS, rngs=nnx.Rngs(0), **options)


def batch_norm(features: int, **options: Any) -> nnx.BatchNorm:
    """Batch norm with these options of `nnx.BatchNorm`."""
    # Not E[x^2] - E[x]^2, which loses half of the digits.
    return nnx.BatchNorm(features, use_fast_variance=False, **options, rngs=nnx.Rngs(0))


def flatten(features: jax.Array) -> jax.Array:
    """Return (batch, ...) as (batch, features)."""
    return features.reshape(len(features), -1)


class MaxPool(nnx.Module):
    """The maxima of windows of two along each of the first `dimensions` axes of an example.

    `compares`: whether slices are compared, instead of a window reduction, whose gradient is slow on CPUs.
    Of equal values the first has the gradient in both.
    """

    compares = False

    def __init__(self, dimensions: int) -> None:
        self.window = (2,) * dimensions

    def __call__(self, features: jax.Array) -> jax.Array:
        """Return the maxima, (batch, ..., channels); what is left at the end of an odd side is dropped."""
        if not self.compares:
            return nnx.max_pool(features, self.window, strides=self.window)
        ends = [side // 2 * 2 for side in features.shape[1:-1]]
        starts = product((0, 1), repeat=len(ends))
        largest, *rest = (
            features[:, *(slice(at, end, 2) for at, end in zip(start, ends, strict=True))]
            for start in starts
        )
        for other in rest:
            largest = jnp.where((other > largest) | jnp.isnan(other), other, largest)
        return largest


def average(features: jax.Array) -> jax.Array:
    """Return the means of feature maps, (batch, channels)."""
    return features.mean((1, 2))


def mlp(shape: tuple[int, ...], classes: int, hidden: list[int]) -> nnx.Module:
    """Dense layers of `hidden` outputs, each rectified; one dense layer."""
    widths = [math.prod(shape), *hidden]
    layers: list[Callable[..., Any]] = [flatten]
    for inputs, outputs in pairwise(widths):
        layers += [dense(inputs, outputs), nnx.relu]
    return nnx.Sequential(*layers, dense(widths[-1], classes))


class Squares(nnx.Variable):
    """A variable whose gradient is a sum over the occurrences of each word: see `Embedding`."""


class Embedding(nnx.Module):
    """A table of vectors, (words, features).

    `counts`: whether the gradient of `squares` is how often a word occurs, instead of the sum of g^2.
    """

    counts = False

    def __init__(self, vocabulary: int, features: int) -> None:
        self.embedding = nnx.Param(jnp.zeros((vocabulary, features)))
        self.squares = Squares(jnp.zeros((vocabulary, features)))
        self.dtype = self.embedding.dtype

    def __call__(self, indices: jax.Array) -> jax.Array:
        """Return the vectors of word indices."""
        vectors = jnp.take(self.embedding[...], indices, axis=0).astype(self.dtype)
        return _follow(vectors, self.squares[...], indices, 0 if self.counts else 2)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _follow(vectors: jax.Array, squares: jax.Array, indices: jax.Array, power: int) -> jax.Array:
    """Return the vectors; the gradient of `squares` sums a power of theirs for each word."""
    return vectors


def _forward(vectors: jax.Array, squares: jax.Array, indices: jax.Array, power: int) -> tuple:
    return vectors, (squares, indices)


def _backward(power: int, kept: tuple, gradient: jax.Array) -> tuple:
    squares, indices = kept
    return gradient, jnp.zeros_like(squares).at[indices].add(gradient**power), None


_follow.defvjp(_forward, _backward)


class Residual(nnx.Linear):
    """A dense layer without bias whose output is added to its block's input."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, use_bias=False, kernel_init=ZEROS, rngs=nnx.Rngs(0))


MODELS: dict[str, Callable[..., nnx.Module]] = plugins.extend("models/jax.py", {"mlp": mlp})
