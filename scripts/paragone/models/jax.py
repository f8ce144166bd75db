"""The models in flax NNX, for the engine `jax`.

Each function takes the shape of one example (channels last), the number of classes and the options of
the workload's `model` block, and returns a module from (batch, height, width, channels) to logits. Layers
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
from paragone.models import between, chosen

# Keras' defaults: its running average keeps 0.99 of the old value.
KERAS_BATCH_NORM = {"momentum": 0.99, "epsilon": 1e-3}
TORCH_BATCH_NORM = {"momentum": 0.9, "epsilon": 1e-5}

_pool_mean = partial(nnx.avg_pool, window_shape=(2, 2), strides=(2, 2))


# Canonical weights replace these; drawing random ones would compile a program for each shape.
ZEROS = nnx.initializers.zeros


def _conv(inputs: int, outputs: int, kernel: tuple[int, ...], **options: Any) -> nnx.Conv:
    options = {"padding": "VALID", "kernel_init": ZEROS, "rngs": nnx.Rngs(0), **options}
    return nnx.Conv(inputs, outputs, kernel, **options)


def _dense(inputs: int, outputs: int, **options: Any) -> nnx.Linear:
    return nnx.Linear(inputs, outputs, kernel_init=ZEROS, rngs=nnx.Rngs(0), **options)


def _batch_norm(features: int, **options: Any) -> nnx.BatchNorm:
    # Not E[x^2] - E[x]^2, which loses half of the digits.
    return nnx.BatchNorm(features, use_fast_variance=False, **options, rngs=nnx.Rngs(0))


def _flatten(features: jax.Array) -> jax.Array:
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
        """The maxima, (batch, ..., channels); what is left at the end of an odd side is dropped."""
        if not self.compares:
            return nnx.max_pool(features, self.window, strides=self.window)
        ends = [side // 2 * 2 for side in features.shape[1:-1]]
        starts = product((0, 1), repeat=len(ends))
        largest, *others = (
            features[:, *(slice(at, end, 2) for at, end in zip(start, ends, strict=True))]
            for start in starts
        )
        for other in others:
            largest = jnp.where((other > largest) | jnp.isnan(other), other, largest)
        return largest


def _average(features: jax.Array) -> jax.Array:
    return features.mean((1, 2))


def fashion_cnn(shape: tuple[int, int, int], classes: int) -> nnx.Module:
    """Two 5 x 5 convolutions of 10 and 20 filters, pooled, rectified, then batch norm; two dense layers."""
    rows, columns = (((side - 4) // 2 - 4) // 2 for side in shape[:2])
    return nnx.Sequential(
        _conv(shape[2], 10, (5, 5)),
        MaxPool(2),
        nnx.relu,
        _batch_norm(10, **TORCH_BATCH_NORM),
        _conv(10, 20, (5, 5)),
        MaxPool(2),
        nnx.relu,
        _batch_norm(20, **TORCH_BATCH_NORM),
        _flatten,
        _dense(20 * rows * columns, 50),
        nnx.relu,
        _dense(50, classes),
    )


def fashion_conv(
    shape: tuple[int, int, int], classes: int, filters: int = 64, activation: str = "relu"
) -> nnx.Module:
    """One 3 x 3 convolution, pooled, then relu or elu; one dense layer."""
    rows, columns = ((side - 2) // 2 for side in shape[:2])
    return nnx.Sequential(
        _conv(shape[2], filters, (3, 3)),
        MaxPool(2),
        chosen("activation", activation, {"relu": nnx.relu, "elu": nnx.elu}),
        _flatten,
        _dense(filters * rows * columns, classes),
    )


def lenet(shape: tuple[int, int, int], classes: int) -> nnx.Module:
    """LeNet of "Dive into Deep Learning": two 5 x 5 convolutions, pooled by means, three dense layers."""
    rows, columns = ((side // 2 - 4) // 2 for side in shape[:2])
    return nnx.Sequential(
        _conv(shape[2], 6, (5, 5), padding="SAME"),
        nnx.sigmoid,
        _pool_mean,
        _conv(6, 16, (5, 5)),
        nnx.sigmoid,
        _pool_mean,
        _flatten,
        _dense(16 * rows * columns, 120),
        nnx.sigmoid,
        _dense(120, 84),
        nnx.sigmoid,
        _dense(84, classes),
    )


def mlp(shape: tuple[int, ...], classes: int, hidden: list[int]) -> nnx.Module:
    """Dense layers of `hidden` outputs, each rectified; one dense layer."""
    widths = [math.prod(shape), *hidden]
    layers: list[Callable[..., Any]] = [_flatten]
    for inputs, outputs in pairwise(widths):
        layers += [_dense(inputs, outputs), nnx.relu]
    return nnx.Sequential(*layers, _dense(widths[-1], classes))


class Squares(nnx.Variable):
    """A variable whose gradient is a sum over the occurrences of each word: see `Embedding`."""


class Embedding(nnx.Module):
    """A table of vectors, (words, features).

    `counts`: whether the gradient of `squares` is how often a word occurs, instead of the sum of g^2.
    """

    counts = False

    def __init__(self, words: int, features: int) -> None:
        self.embedding = nnx.Param(jnp.zeros((words, features)))
        self.squares = Squares(jnp.zeros((words, features)))
        self.dtype = self.embedding.dtype

    def __call__(self, words: jax.Array) -> jax.Array:
        """The vectors of word indices."""
        vectors = jnp.take(self.embedding[...], words, axis=0).astype(self.dtype)
        return _follow(vectors, self.squares[...], words, 0 if self.counts else 2)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _follow(vectors: jax.Array, squares: jax.Array, words: jax.Array, power: int) -> jax.Array:
    """Return the vectors; the gradient of `squares` sums a power of theirs for each word."""
    return vectors


def _forward(vectors: jax.Array, squares: jax.Array, words: jax.Array, power: int) -> tuple:
    return vectors, (squares, words)


def _backward(power: int, kept: tuple, gradient: jax.Array) -> tuple:
    squares, words = kept
    return gradient, jnp.zeros_like(squares).at[words].add(gradient**power), None


_follow.defvjp(_forward, _backward)


def text_cnn(shape: tuple[int], classes: int, vocabulary: int) -> nnx.Module:
    """Embedding of 7, then two 1-D convolutions of 64 and 32 filters, each rectified and pooled."""
    return nnx.Sequential(
        Embedding(vocabulary, 7),
        _conv(7, 64, (5,)),
        nnx.relu,
        MaxPool(1),
        _conv(64, 32, (3,)),
        nnx.relu,
        MaxPool(1),
        _flatten,
        _dense(32 * (((shape[0] - 4) // 2 - 2) // 2), classes),
    )


def _conv_norm_relu(inputs: int, outputs: int) -> nnx.Sequential:
    return nnx.Sequential(
        _conv(inputs, outputs, (3, 3), padding="SAME"),
        _batch_norm(outputs, **KERAS_BATCH_NORM),
        nnx.relu,
    )


class WideBlock(nnx.Module):
    """Two convolutions plus a shortcut, which is a 1 x 1 convolution if `project`."""

    def __init__(self, inputs: int, outputs: int, dropout: float, project: bool) -> None:
        self.residual = nnx.Sequential(
            _conv_norm_relu(inputs, outputs),
            nnx.Dropout(dropout),
            _conv_norm_relu(outputs, outputs),
        )
        self.shortcut = _conv(inputs, outputs, (1, 1)) if project else nnx.identity

    def __call__(self, features: jax.Array, rngs: nnx.Rngs | None = None) -> jax.Array:
        """The block's output, (batch, height, width, outputs)."""
        return self.shortcut(features) + self.residual(features, rngs=rngs)


def wide_resnet(
    shape: tuple[int, int, int], classes: int, width: int, dropout: float
) -> nnx.Module:
    """WideResNet-16 of the batch size lab: three stages of two blocks, with pooling in between."""
    widths = [16 * width, 32 * width, 64 * width]
    layers: list[Callable[..., Any]] = [_conv_norm_relu(shape[2], 16)]
    for inputs, outputs in zip([16, *widths], widths, strict=False):
        layers += [
            *([] if outputs == widths[0] else [MaxPool(2)]),
            WideBlock(inputs, outputs, dropout, project=True),
            WideBlock(outputs, outputs, dropout, project=False),
        ]
    return nnx.Sequential(*layers, _average, _dense(widths[-1], classes))


class BasicBlock(nnx.Module):
    """Two 3 x 3 convolutions plus a shortcut, rectified; where channels change they have the stride 2.

    The shortcut then is a 1 x 1 convolution without batch norm.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        stride = 1 if inputs == outputs else 2
        self.residual = nnx.Sequential(
            _conv(inputs, outputs, (3, 3), strides=stride, padding=1),
            _batch_norm(outputs, **TORCH_BATCH_NORM),
            nnx.relu,
            _conv(outputs, outputs, (3, 3), padding=1),
            _batch_norm(outputs, **TORCH_BATCH_NORM),
        )
        self.shortcut = (
            nnx.identity if stride == 1 else _conv(inputs, outputs, (1, 1), strides=stride)
        )

    def __call__(self, features: jax.Array) -> jax.Array:
        """The block's output, (batch, height / stride, width / stride, outputs)."""
        return nnx.relu(self.residual(features) + self.shortcut(features))


def _enlarge(images: jax.Array, size: int) -> jax.Array:
    """(batch, height, width, channels) to (batch, size, size, channels)."""
    for axis in (1, 2):
        before, after, share = between(images.shape[axis], size)
        share = jnp.asarray(share, images.dtype).reshape([-1] + [1] * (3 - axis))
        first, second = (jnp.take(images, pixels, axis) for pixels in (before, after))
        images = first + share * (second - first)
    return images


def resnet_18(
    shape: tuple[int, int, int], classes: int, width: int, resize: int | None = None
) -> nnx.Module:
    """ResNet-18 of "Dive into Deep Learning", with a bias in each convolution.

    `width`: channels of the first one, 64 as published. `resize`: pixels per side to which images are
    enlarged, bilinear.
    """
    layers: list[Callable[..., Any]] = [partial(_enlarge, size=resize)] if resize else []
    layers += [
        _conv(shape[2], width, (7, 7), strides=2, padding=3),
        _batch_norm(width, **TORCH_BATCH_NORM),
        nnx.relu,
        partial(nnx.max_pool, window_shape=(3, 3), strides=(2, 2), padding=((1, 1), (1, 1))),
    ]
    for inputs, outputs in pairwise([width, width, 2 * width, 4 * width, 8 * width]):
        layers += [BasicBlock(inputs, outputs), BasicBlock(outputs, outputs)]
    return nnx.Sequential(*layers, _average, _dense(8 * width, classes))


# Of each group of blocks: expansion, filters, blocks, stride of the first (Sandler et al., arXiv:1801.04381).
_MOBILENET_V2 = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def _conv_norm(
    inputs: int, outputs: int, side: int, stride: int = 1, groups: int = 1
) -> nnx.Sequential:
    # Keras pads an even side at its end only.
    padding = "SAME" if stride == 1 else ((0, 1), (0, 1))
    return nnx.Sequential(
        _conv(
            inputs,
            outputs,
            (side, side),
            strides=stride,
            padding=padding,
            feature_group_count=groups,
            use_bias=False,
        ),
        _batch_norm(outputs, momentum=0.999, epsilon=1e-3),
    )


class InvertedResidual(nnx.Module):
    """Expansion, depthwise convolution and projection, plus a shortcut where shapes allow it."""

    def __init__(self, inputs: int, outputs: int, expansion: int, stride: int) -> None:
        hidden = inputs * expansion
        expand: list[Callable[..., Any]] = []
        if expansion > 1:
            expand = [_conv_norm(inputs, hidden, 1), nnx.relu6]
        self.layers = nnx.Sequential(
            *expand,
            _conv_norm(hidden, hidden, 3, stride, groups=hidden),
            nnx.relu6,
            _conv_norm(hidden, outputs, 1),
        )
        self.residual = stride == 1 and inputs == outputs

    def __call__(self, features: jax.Array) -> jax.Array:
        """The block's output, (batch, height, width, outputs)."""
        outputs = self.layers(features)
        return features + outputs if self.residual else outputs


def mobilenet_v2(shape: tuple[int, int, int], classes: int, outputs: int) -> nnx.Module:
    """MobileNetV2 of Keras, without dropout; `outputs` may exceed the classes, as in the source."""
    layers: list[Callable[..., Any]] = [_conv_norm(shape[2], 32, 3, 2), nnx.relu6]
    filters = 32
    for expansion, wanted, blocks, stride in _MOBILENET_V2:
        for block in range(blocks):
            layers.append(InvertedResidual(filters, wanted, expansion, 1 if block else stride))
            filters = wanted
    layers += [_conv_norm(filters, 1280, 1), nnx.relu6]
    return nnx.Sequential(*layers, _average, _dense(1280, outputs))


class Residual(nnx.Linear):
    """A dense layer without bias whose output is added to its block's input."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, use_bias=False, kernel_init=ZEROS, rngs=nnx.Rngs(0))


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
        self.attention = _dense(width, 3 * width, use_bias=False)  # queries, keys and values
        self.projection = Residual(width, width)
        self.norm_dense = _layer_norm(width)
        self.expansion = _dense(width, 4 * width, use_bias=False)
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
        found = jnp.einsum("bhqk,bkhd->bqhd", self.dropout(shares, rngs=rngs), value)
        found = self.projection(found.reshape(features.shape))
        features = features + self.dropout(found, rngs=rngs)
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


MODELS: dict[str, Callable[..., nnx.Module]] = plugins.extend(
    "models/jax.py",
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
