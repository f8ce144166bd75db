"""A transformer encoder that classifies texts, in flax NNX."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

ZEROS = nnx.initializers.zeros  # weights are replaced; random ones would only take time


def _embedding(entries: int, width: int) -> nnx.Embed:
    return nnx.Embed(entries, width, embedding_init=ZEROS, rngs=nnx.Rngs(0))


def _dense(inputs: int, outputs: int) -> nnx.Linear:
    return nnx.Linear(inputs, outputs, kernel_init=ZEROS, rngs=nnx.Rngs(0))


def _norm(width: int) -> nnx.LayerNorm:
    # PyTorch's epsilon; not E[x^2] - E[x]^2, which loses half of the digits.
    return nnx.LayerNorm(width, epsilon=1e-5, use_fast_variance=False, rngs=nnx.Rngs(0))


def _attention(
    query: jax.Array, key: jax.Array, value: jax.Array, mask: jax.Array, **_: Any
) -> jax.Array:
    """Of all heads at once. flax's own computes its softmax in single precision whatever the weights have."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(query.shape[-1])
    shares = jax.nn.softmax(jnp.where(mask, scores, jnp.finfo(scores.dtype).min))
    return jnp.einsum("bhqk,bkhd->bqhd", shares, value)


class Block(nnx.Module):
    """Attention and two dense layers word by word, each normalized before and added to its input."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        self.norm_attention = _norm(width)
        self.attention = nnx.MultiHeadAttention(
            heads,
            width,
            decode=False,
            attention_fn=_attention,
            kernel_init=ZEROS,
            rngs=nnx.Rngs(0),
        )
        self.norm_dense = _norm(width)
        # Not flax's default, an approximation by tanh.
        gelu = partial(nnx.gelu, approximate=False)
        self.dense = nnx.Sequential(_dense(width, hidden), gelu, _dense(hidden, width))

    def __call__(self, features: jax.Array, mask: jax.Array) -> jax.Array:
        """(batch, words, width), and the words that each may look at."""
        features = features + self.attention(self.norm_attention(features), mask=mask)
        return features + self.dense(self.norm_dense(features))


class TextTransformer(nnx.Module):
    """Embedded words and positions, blocks, the mean over the words, a dense layer."""

    def __init__(
        self, length: int, classes: int, vocabulary: int, width: int, blocks: list[Block]
    ) -> None:
        self.length = length
        self.words = _embedding(vocabulary, width)
        self.positions = _embedding(length, width)
        self.blocks = nnx.List(blocks)
        self.norm = _norm(width)
        self.classifier = _dense(width, classes)

    def __call__(self, indices: jax.Array, rngs: nnx.Rngs | None = None) -> jax.Array:
        """Logits of (batch, length) word indices, of which 0 is no word."""
        indices = indices[:, -self.length :]
        there = indices != 0
        features = self.words(indices) + self.positions(jnp.arange(self.length))
        for block in self.blocks:
            features = block(features, there[:, None, None, :])
        weights = there.astype(features.dtype)[:, :, None]
        mean = (self.norm(features) * weights).sum(1) / jnp.maximum(weights.sum(1), 1)
        return self.classifier(mean)


def text_transformer(
    shape: tuple[int],
    classes: int,
    vocabulary: int,
    length: int,
    width: int,
    heads: int,
    hidden: int,
    blocks: int,
) -> nnx.Module:
    """An encoder of so many blocks over the last `length` words; hidden: units between its dense layers."""
    encoder = [Block(width, heads, hidden) for _ in range(blocks)]
    return TextTransformer(min(length, shape[0]), classes, vocabulary, width, encoder)


MODELS = {"text-transformer": text_transformer}
