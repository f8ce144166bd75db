"""GPT-2 without biases, in Keras."""

import math

from paragone.base.tensorflow import keras
from paragone.models.tensorflow import Residual

layers = keras.layers
ops = keras.ops


def _norm() -> keras.Layer:
    return layers.LayerNormalization(epsilon=1e-5, center=False)


class GptBlock(keras.layers.Layer):
    """Causal attention, then two dense layers, each normalized before and added to its input."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention = _norm()
        self.attention = layers.Dense(3 * width, use_bias=False)  # queries, keys and values
        self.drop_shares = layers.Dropout(dropout)
        self.projection = Residual(width)
        self.drop_attention = layers.Dropout(dropout)
        self.norm_dense = _norm()
        self.expansion = layers.Dense(4 * width, use_bias=False)
        self.contraction = Residual(width)
        self.drop_dense = layers.Dropout(dropout)

    def call(self, features: keras.KerasTensor) -> keras.KerasTensor:
        """(batch, length, width)."""
        _, length, width = features.shape
        split = (-1, length, self.heads, width // self.heads)
        query, key, value = (
            ops.reshape(part, split)
            for part in ops.split(self.attention(self.norm_attention(features)), 3, -1)
        )
        scores = ops.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(split[-1])
        seen = ops.arange(length)[:, None] >= ops.arange(length)
        shares = ops.softmax(ops.where(seen, scores, -1e9))
        attended = ops.einsum("bhqk,bkhd->bqhd", self.drop_shares(shares), value)
        attended = self.projection(ops.reshape(attended, (-1, length, width)))
        features = features + self.drop_attention(attended)
        hidden = ops.gelu(self.expansion(self.norm_dense(features)), approximate=False)
        return features + self.drop_dense(self.contraction(hidden))


class Gpt(keras.layers.Layer):
    """Embedded tokens and positions, blocks, a norm, and the embedding of tokens as output layer."""

    def __init__(
        self, length: int, vocabulary: int, blocks: int, heads: int, width: int, dropout: float
    ) -> None:
        super().__init__()
        self.tokens = layers.Embedding(vocabulary, width)
        self.positions = layers.Embedding(length, width)
        self.dropout = layers.Dropout(dropout)
        self.blocks = [GptBlock(width, heads, dropout) for _ in range(blocks)]
        self.norm = _norm()

    def call(self, tokens: keras.KerasTensor) -> keras.KerasTensor:
        """Logits, (batch, length, vocabulary), of (batch, length) tokens."""
        features = self.tokens(tokens) + self.positions(ops.arange(tokens.shape[1]))
        features = self.dropout(features)
        for block in self.blocks:
            features = block(features)
        return ops.matmul(self.norm(features), ops.transpose(self.tokens.embeddings))


def gpt(
    shape: tuple[int],
    classes: int,
    vocabulary: int,
    layers: int,
    heads: int,
    width: int,
    dropout: float,
) -> keras.Model:
    """GPT-2 without biases, for windows of shape (length,); `classes` are the tokens themselves."""
    inputs = keras.Input(shape, dtype="int32")
    return keras.Model(inputs, Gpt(shape[0], vocabulary, layers, heads, width, dropout)(inputs))


MODELS = {"gpt": gpt}
