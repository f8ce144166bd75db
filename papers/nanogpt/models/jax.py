"""GPT-2 without biases, in flax NNX."""

import math

import jax
import jax.numpy as jnp
from flax import nnx

from paragone.models.jax import ZEROS, Residual, dense


def _embedding(entries: int, width: int) -> nnx.Embed:
    return nnx.Embed(entries, width, embedding_init=ZEROS, rngs=nnx.Rngs(0))


def _layer_norm(width: int) -> nnx.LayerNorm:
    # PyTorch's epsilon; not E[x^2] - E[x]^2, which loses half of the digits.
    return nnx.LayerNorm(
        width, epsilon=1e-5, use_bias=False, use_fast_variance=False, rngs=nnx.Rngs(0)
    )


class GptBlock(nnx.Module):
    """Causal attention, then two dense layers, each normalized before and added to its input."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        self.heads = heads
        self.norm_attention = _layer_norm(width)
        self.attention = dense(width, 3 * width, use_bias=False)  # queries, keys and values
        self.projection = Residual(width, width)
        self.norm_dense = _layer_norm(width)
        self.expansion = dense(width, 4 * width, use_bias=False)
        self.contraction = Residual(4 * width, width)
        self.dropout = nnx.Dropout(dropout)

    def __call__(self, features: jax.Array, rngs: nnx.Rngs | None = None) -> jax.Array:
        """(batch, length, width)."""
        batch, length, width = features.shape
        query, key, value = (
            part.reshape(batch, length, self.heads, -1)
            for part in jnp.split(self.attention(self.norm_attention(features)), 3, -1)
        )
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(width // self.heads)
        seen = jnp.tril(jnp.ones((length, length), bool))
        shares = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf))
        attended = jnp.einsum("bhqk,bkhd->bqhd", self.dropout(shares, rngs=rngs), value)
        attended = self.projection(attended.reshape(features.shape))
        features = features + self.dropout(attended, rngs=rngs)
        hidden = nnx.gelu(self.expansion(self.norm_dense(features)), approximate=False)
        return features + self.dropout(self.contraction(hidden), rngs=rngs)


class Gpt(nnx.Module):
    """Embedded tokens and positions, blocks, a norm, and the embedding of tokens as output layer."""

    def __init__(
        self, length: int, vocabulary: int, layers: int, heads: int, width: int, dropout: float
    ) -> None:
        self.tokens = _embedding(vocabulary, width)
        self.positions = _embedding(length, width)
        self.dropout = nnx.Dropout(dropout)
        self.blocks = nnx.List([GptBlock(width, heads, dropout) for _ in range(layers)])
        self.norm = _layer_norm(width)

    def __call__(self, tokens: jax.Array, rngs: nnx.Rngs | None = None) -> jax.Array:
        """Logits, (batch, length, vocabulary), of (batch, length) tokens."""
        features = self.tokens(tokens) + self.positions(jnp.arange(tokens.shape[1]))
        features = self.dropout(features, rngs=rngs)
        for block in self.blocks:
            features = block(features, rngs)
        return self.tokens.attend(self.norm(features))


def gpt(
    shape: tuple[int],
    classes: int,
    vocabulary: int,
    layers: int,
    heads: int,
    width: int,
    dropout: float,
) -> nnx.Module:
    """GPT-2 without biases, for windows of shape (length,); `classes` are the tokens themselves."""
    return Gpt(shape[0], vocabulary, layers, heads, width, dropout)


MODELS = {"gpt": gpt}
