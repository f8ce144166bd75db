"""The WideResNet, in flax NNX."""

from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from paragone.models.jax import KERAS_BATCH_NORM, MaxPool, average, batch_norm, conv, dense


def _conv_norm_relu(inputs: int, outputs: int) -> nnx.Sequential:
    return nnx.Sequential(
        conv(inputs, outputs, (3, 3), padding="SAME"),
        batch_norm(outputs, **KERAS_BATCH_NORM),
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
        self.shortcut = conv(inputs, outputs, (1, 1)) if project else nnx.identity

    def __call__(self, features: jax.Array, rngs: nnx.Rngs | None = None) -> jax.Array:
        """Return the block's output, (batch, height, width, outputs)."""
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
    return nnx.Sequential(*layers, average, dense(widths[-1], classes))


MODELS = {"wide-resnet": wide_resnet}
