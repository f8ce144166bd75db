"""The models in Keras, for the engine `tensorflow`.

Each function takes the shape of one example (channels last), the number of classes and the options of
the workload's `model` block, and returns a model from (batch, height, width, channels) to logits.
"""

import math
from collections.abc import Callable

from paragone.base import plugins
from paragone.base.tensorflow import keras
from paragone.models import between, chosen

layers = keras.layers
ops = keras.ops

# PyTorch's constants: its running average keeps 0.9 of the old value.
BATCH_NORM = {"momentum": 0.9, "epsilon": 1e-5}


def fashion_cnn(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """Two 5 x 5 convolutions of 10 and 20 filters, pooled, rectified, then batch norm; two dense layers."""
    return keras.Sequential(
        [
            layers.Input(shape),
            layers.Conv2D(10, 5),
            layers.MaxPooling2D(2),
            layers.ReLU(),
            layers.BatchNormalization(**BATCH_NORM),
            layers.Conv2D(20, 5),
            layers.MaxPooling2D(2),
            layers.ReLU(),
            layers.BatchNormalization(**BATCH_NORM),
            layers.Flatten(),
            layers.Dense(50, activation="relu"),
            layers.Dense(classes),
        ]
    )


def fashion_conv(
    shape: tuple[int, int, int], classes: int, filters: int = 64, activation: str = "relu"
) -> keras.Model:
    """One 3 x 3 convolution, pooled, then relu or elu; one dense layer."""
    return keras.Sequential(
        [
            layers.Input(shape),
            layers.Conv2D(filters, 3),
            layers.MaxPooling2D(2),
            chosen("activation", activation, {"relu": layers.ReLU, "elu": layers.ELU})(),
            layers.Flatten(),
            layers.Dense(classes),
        ]
    )


def lenet(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """LeNet of "Dive into Deep Learning": two 5 x 5 convolutions, pooled by means, three dense layers."""
    return keras.Sequential(
        [
            layers.Input(shape),
            layers.Conv2D(6, 5, padding="same", activation="sigmoid"),
            layers.AveragePooling2D(2),
            layers.Conv2D(16, 5, activation="sigmoid"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(120, activation="sigmoid"),
            layers.Dense(84, activation="sigmoid"),
            layers.Dense(classes),
        ]
    )


def mlp(shape: tuple[int, ...], classes: int, hidden: list[int]) -> keras.Model:
    """Dense layers of `hidden` outputs, each rectified; one dense layer."""
    dense = [layers.Dense(outputs, activation="relu") for outputs in hidden]
    return keras.Sequential([layers.Input(shape), layers.Flatten(), *dense, layers.Dense(classes)])


def text_cnn(shape: tuple[int], classes: int, vocabulary: int) -> keras.Model:
    """Embedding of 7, then two 1-D convolutions of 64 and 32 filters, each rectified and pooled."""
    return keras.Sequential(
        [
            layers.Input(shape, dtype="int32"),
            layers.Embedding(vocabulary, 7),
            layers.Conv1D(64, 5, activation="relu"),
            layers.MaxPooling1D(2),
            layers.Conv1D(32, 3, activation="relu"),
            layers.MaxPooling1D(2),
            layers.Flatten(),
            layers.Dense(classes),
        ]
    )


def _conv_norm_relu(features: keras.KerasTensor, filters: int) -> keras.KerasTensor:
    features = layers.Conv2D(filters, 3, padding="same")(features)
    return layers.ReLU()(layers.BatchNormalization()(features))


def _wide_block(
    features: keras.KerasTensor, filters: int, dropout: float, project: bool
) -> keras.KerasTensor:
    residual = layers.Dropout(dropout)(_conv_norm_relu(features, filters))
    residual = _conv_norm_relu(residual, filters)
    shortcut = layers.Conv2D(filters, 1)(features) if project else features
    return layers.Add()([shortcut, residual])


def wide_resnet(
    shape: tuple[int, int, int], classes: int, width: int, dropout: float
) -> keras.Model:
    """WideResNet-16 of the batch size lab: three stages of two blocks, with pooling in between."""
    inputs = layers.Input(shape)
    features = _conv_norm_relu(inputs, 16)
    for stage in range(3):
        if stage:
            features = layers.MaxPooling2D(2)(features)
        for project in (True, False):
            features = _wide_block(features, 16 * width * 2**stage, dropout, project)
    features = layers.GlobalAveragePooling2D()(features)
    return keras.Model(inputs, layers.Dense(classes)(features))


def _conv_norm(filters: int, side: int, stride: int = 1) -> list[keras.Layer]:
    """A convolution padded alike on all sides, which Keras' "same" is not where it strides; batch norm."""
    return [
        layers.ZeroPadding2D(side // 2),
        layers.Conv2D(filters, side, stride),
        layers.BatchNormalization(**BATCH_NORM),
    ]


def _basic_block(features: keras.KerasTensor, filters: int) -> keras.KerasTensor:
    stride = 1 if features.shape[-1] == filters else 2
    residual = keras.Sequential(
        [*_conv_norm(filters, 3, stride), layers.ReLU(), *_conv_norm(filters, 3)]
    )(features)
    shortcut = features if stride == 1 else layers.Conv2D(filters, 1, stride)(features)
    return layers.ReLU()(layers.Add()([residual, shortcut]))


class Enlarge(keras.layers.Layer):
    """Images of `size` pixels per side from smaller ones; Keras' own resizing has single precision alone."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def call(self, images: keras.KerasTensor) -> keras.KerasTensor:
        """(batch, height, width, channels) to (batch, size, size, channels)."""
        for axis in (1, 2):
            before, after, share = between(images.shape[axis], self.size)
            share = ops.cast(share.reshape([-1] + [1] * (3 - axis)), images.dtype)
            first, second = (ops.take(images, pixels, axis) for pixels in (before, after))
            images = first + share * (second - first)
        return images


def resnet_18(
    shape: tuple[int, int, int], classes: int, width: int, resize: int | None = None
) -> keras.Model:
    """ResNet-18 of "Dive into Deep Learning", with a bias in each convolution.

    `width`: channels of the first one, 64 as published. `resize`: pixels per side to which images are
    enlarged, bilinear.
    """
    inputs = features = layers.Input(shape)
    if resize:
        features = Enlarge(resize)(features)
    # After the rectifier, zeros around are as good as nothing around.
    for layer in (*_conv_norm(width, 7, 2), layers.ReLU(), layers.ZeroPadding2D(1)):
        features = layer(features)
    features = layers.MaxPooling2D(3, 2)(features)
    for stage in range(4):
        for _ in range(2):
            features = _basic_block(features, width * 2**stage)
    features = layers.GlobalAveragePooling2D()(features)
    return keras.Model(inputs, layers.Dense(classes)(features))


def mobilenet_v2(shape: tuple[int, int, int], classes: int, outputs: int) -> keras.Model:
    """Keras' own MobileNetV2; `outputs` may exceed the classes: the source keeps ImageNet's 1,000."""
    return keras.applications.MobileNetV2(
        shape, weights=None, classes=outputs, classifier_activation=None
    )


class Residual(keras.layers.Dense):
    """A dense layer without bias whose output is added to its block's input."""

    def __init__(self, outputs: int) -> None:
        super().__init__(outputs, use_bias=False)


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
        found = ops.einsum("bhqk,bkhd->bqhd", self.drop_shares(shares), value)
        found = self.projection(ops.reshape(found, (-1, length, width)))
        features = features + self.drop_attention(found)
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


MODELS: dict[str, Callable[..., keras.Model]] = plugins.extend(
    "models/tensorflow.py",
    {
        "fashion-cnn": fashion_cnn,
        "fashion-conv": fashion_conv,
        "gpt": gpt,
        "lenet": lenet,
        "mlp": mlp,
        "mobilenet-v2": mobilenet_v2,
        "resnet-18": resnet_18,
        "text-cnn": text_cnn,
        "wide-resnet": wide_resnet,
    },
)
