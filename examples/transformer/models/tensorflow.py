"""A transformer encoder that classifies texts, in Keras."""

import keras
from keras import layers, ops

EPSILON = 1e-5  # PyTorch's; Keras' own is 1e-3


class WordsAndPositions(layers.Layer):
    """The sum of two embeddings: of the words and of their positions."""

    def __init__(self, vocabulary: int, length: int, width: int) -> None:
        super().__init__()
        self.words = layers.Embedding(vocabulary, width)
        self.positions = layers.Embedding(length, width)

    def call(self, indices: keras.KerasTensor) -> keras.KerasTensor:
        """(batch, length) to (batch, length, width)."""
        return self.words(indices) + self.positions(ops.arange(indices.shape[1]))


class MeanOfWords(layers.Layer):
    """The mean over positions that hold a word; 0 of a text without any."""

    def call(self, features: keras.KerasTensor, there: keras.KerasTensor) -> keras.KerasTensor:
        """(batch, length, width) to (batch, width)."""
        weights = ops.cast(there, features.dtype)[:, :, None]
        return ops.sum(features * weights, 1) / ops.maximum(ops.sum(weights, 1), 1)


def _block(
    features: keras.KerasTensor, mask: keras.KerasTensor, heads: int, hidden: int
) -> keras.KerasTensor:
    """Attention and two dense layers word by word, each normalized before and added to its input."""
    width = features.shape[-1]
    normed = layers.LayerNormalization(epsilon=EPSILON)(features)
    attention = layers.MultiHeadAttention(heads, width // heads)
    features = layers.Add()([features, attention(normed, normed, attention_mask=mask)])
    normed = layers.LayerNormalization(epsilon=EPSILON)(features)
    dense = keras.Sequential([layers.Dense(hidden, activation="gelu"), layers.Dense(width)])
    return layers.Add()([features, dense(normed)])


def text_transformer(
    shape: tuple[int],
    classes: int,
    vocabulary: int,
    length: int,
    width: int,
    heads: int,
    hidden: int,
    blocks: int,
) -> keras.Model:
    """An encoder of so many blocks over the last `length` words; hidden: units between its dense layers."""
    inputs = layers.Input(shape, dtype="int32")
    length = min(length, shape[0])
    indices = inputs[:, -length:]
    there = ops.not_equal(indices, 0)
    features = WordsAndPositions(vocabulary, length, width)(indices)
    for _ in range(blocks):
        features = _block(features, ops.expand_dims(there, 1), heads, hidden)
    features = layers.LayerNormalization(epsilon=EPSILON)(features)
    return keras.Model(inputs, layers.Dense(classes)(MeanOfWords()(features, there)))


MODELS = {"text-transformer": text_transformer}
