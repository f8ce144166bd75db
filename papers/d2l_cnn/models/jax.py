"""LeNet and ResNet-18 of "Dive into Deep Learning", in flax NNX."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from paragone.models.d2l_enlarging import between

from paragone.models.jax import TORCH_BATCH_NORM, average, batch_norm, conv, dense, flatten

_pool_mean = partial(nnx.avg_pool, window_shape=(2, 2), strides=(2, 2))


def lenet(shape: tuple[int, int, int], classes: int) -> nnx.Module:
    """LeNet of "Dive into Deep Learning": two 5 x 5 convolutions, pooled by means, three dense layers."""
    rows, columns = ((side // 2 - 4) // 2 for side in shape[:2])
    return nnx.Sequential(
        conv(shape[2], 6, (5, 5), padding="SAME"),
        nnx.sigmoid,
        _pool_mean,
        conv(6, 16, (5, 5)),
        nnx.sigmoid,
        _pool_mean,
        flatten,
        dense(16 * rows * columns, 120),
        nnx.sigmoid,
        dense(120, 84),
        nnx.sigmoid,
        dense(84, classes),
    )


class BasicBlock(nnx.Module):
    """Two 3 x 3 convolutions plus a shortcut, rectified; where channels change they have the stride 2.

    The shortcut then is a 1 x 1 convolution without batch norm.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        stride = 1 if inputs == outputs else 2
        self.residual = nnx.Sequential(
            conv(inputs, outputs, (3, 3), strides=stride, padding=1),
            batch_norm(outputs, **TORCH_BATCH_NORM),
            nnx.relu,
            conv(outputs, outputs, (3, 3), padding=1),
            batch_norm(outputs, **TORCH_BATCH_NORM),
        )
        self.shortcut = (
            nnx.identity if stride == 1 else conv(inputs, outputs, (1, 1), strides=stride)
        )

    def __call__(self, features: jax.Array) -> jax.Array:
        """Return the block's output, (batch, height / stride, width / stride, outputs)."""
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
        conv(shape[2], width, (7, 7), strides=2, padding=3),
        batch_norm(width, **TORCH_BATCH_NORM),
        nnx.relu,
        partial(nnx.max_pool, window_shape=(3, 3), strides=(2, 2), padding=((1, 1), (1, 1))),
    ]
    for inputs, outputs in pairwise([width, width, 2 * width, 4 * width, 8 * width]):
        layers += [BasicBlock(inputs, outputs), BasicBlock(outputs, outputs)]
    return nnx.Sequential(*layers, average, dense(8 * width, classes))


MODELS = {"lenet": lenet, "resnet-18": resnet_18}
