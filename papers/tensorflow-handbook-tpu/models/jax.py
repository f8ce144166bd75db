"""The small convolutional networks, in flax NNX."""

from typing import Literal

from flax import nnx

from paragone.models.jax import MaxPool, conv, dense, flatten


def fashion_conv(
    shape: tuple[int, int, int],
    classes: int,
    filters: int = 64,
    activation: Literal["relu", "elu"] = "relu",
) -> nnx.Module:
    """One 3 x 3 convolution, pooled, then relu or elu; one dense layer."""
    rows, columns = ((side - 2) // 2 for side in shape[:2])
    return nnx.Sequential(
        conv(shape[2], filters, (3, 3)),
        MaxPool(2),
        {"relu": nnx.relu, "elu": nnx.elu}[activation],
        flatten,
        dense(filters * rows * columns, classes),
    )


MODELS = {"fashion-conv": fashion_conv}
