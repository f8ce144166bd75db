"""ResNet-50 in flax NNX."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from flax import nnx

ZEROS = nnx.initializers.zeros  # weights are replaced; random ones would only take time


def _conv_norm(
    inputs: int,
    outputs: int,
    side: int,
    stride: int = 1,
    start: Callable[..., jax.Array] = nnx.initializers.ones,
) -> nnx.Sequential:
    """A convolution padded alike on all sides, which "SAME" is not where it strides."""
    return nnx.Sequential(
        nnx.Conv(
            inputs,
            outputs,
            (side, side),
            strides=stride,
            padding=side // 2,
            use_bias=False,
            kernel_init=ZEROS,
            rngs=nnx.Rngs(0),
        ),
        nnx.BatchNorm(
            outputs,
            momentum=0.9,
            epsilon=1e-5,
            use_fast_variance=False,
            scale_init=start,
            rngs=nnx.Rngs(0),
        ),
    )


class Bottleneck(nnx.Module):
    """Three convolutions beside a shortcut, which is a 1 x 1 convolution if it is to `project`."""

    def __init__(self, inputs: int, filters: int, stride: int, project: bool) -> None:
        self.residual = nnx.Sequential(
            _conv_norm(inputs, filters, 1),
            nnx.relu,
            _conv_norm(filters, filters, 3, stride),
            nnx.relu,
            _conv_norm(filters, 4 * filters, 1, start=ZEROS),  # a block starts as its shortcut
        )
        self.shortcut = _conv_norm(inputs, 4 * filters, 1, stride) if project else nnx.identity

    def __call__(self, features: jax.Array) -> jax.Array:
        """The block's output, (batch, height, width, 4 * filters)."""
        return nnx.relu(self.residual(features) + self.shortcut(features))


def resnet50(
    shape: tuple[int, int, int], classes: int, width: int, blocks: list[int]
) -> nnx.Module:
    """ResNet-50 (He et al., arXiv:1512.03385) with a block's stride in its 3 x 3 convolution.

    width: channels of the first convolution, 64 as published; blocks: of each stage, 3, 4, 6 and 3.
    """
    pool = partial(nnx.max_pool, window_shape=(3, 3), strides=(2, 2), padding=((1, 1), (1, 1)))
    layers: list[Callable[..., Any]] = [_conv_norm(shape[2], width, 7, 2), nnx.relu, pool]
    inputs = width
    for stage, count in enumerate(blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            layers.append(Bottleneck(inputs, width * 2**stage, stride, project=not block))
            inputs = 4 * width * 2**stage
    head = nnx.Linear(inputs, classes, kernel_init=ZEROS, rngs=nnx.Rngs(0))
    return nnx.Sequential(*layers, lambda features: features.mean((1, 2)), head)


MODELS = {"resnet50": resnet50}
