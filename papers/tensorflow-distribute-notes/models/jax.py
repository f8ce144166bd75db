"""MobileNetV2 and the text CNN, in flax NNX."""

from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from paragone.models.jax import Embedding, MaxPool, average, batch_norm, conv, dense, flatten


def text_cnn(shape: tuple[int], classes: int, vocabulary: int) -> nnx.Module:
    """Embedding of 7, then two 1-D convolutions of 64 and 32 filters, each rectified and pooled."""
    return nnx.Sequential(
        Embedding(vocabulary, 7),
        conv(7, 64, (5,)),
        nnx.relu,
        MaxPool(1),
        conv(64, 32, (3,)),
        nnx.relu,
        MaxPool(1),
        flatten,
        dense(32 * (((shape[0] - 4) // 2 - 2) // 2), classes),
    )


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
        conv(
            inputs,
            outputs,
            (side, side),
            strides=stride,
            padding=padding,
            feature_group_count=groups,
            use_bias=False,
        ),
        batch_norm(outputs, momentum=0.999, epsilon=1e-3),
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
        """Return the block's output, (batch, height, width, outputs)."""
        outputs = self.layers(features)
        return features + outputs if self.residual else outputs


def mobilenet_v2(shape: tuple[int, int, int], classes: int, outputs: int) -> nnx.Module:
    """MobileNetV2 of Keras, without dropout; `outputs` may exceed the classes, as in the source."""
    layers: list[Callable[..., Any]] = [_conv_norm(shape[2], 32, 3, 2), nnx.relu6]
    filters = 32
    for expansion, channels, blocks, stride in _MOBILENET_V2:
        for block in range(blocks):
            layers.append(InvertedResidual(filters, channels, expansion, 1 if block else stride))
            filters = channels
    layers += [_conv_norm(filters, 1280, 1), nnx.relu6]
    return nnx.Sequential(*layers, average, dense(1280, outputs))


MODELS = {"mobilenet-v2": mobilenet_v2, "text-cnn": text_cnn}
