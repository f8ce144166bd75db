"""The small convolutional networks, in PyTorch."""

from typing import Literal

from torch import nn

from paragone.models.torch import FlattenChannelsLast


def fashion_conv(
    shape: tuple[int, int, int],
    classes: int,
    filters: int = 64,
    activation: Literal["relu", "elu"] = "relu",
) -> nn.Module:
    """One 3 x 3 convolution, pooled, then relu or elu; one dense layer."""
    rows, columns = ((side - 2) // 2 for side in shape[:2])
    return nn.Sequential(
        nn.Conv2d(shape[2], filters, kernel_size=3),
        nn.MaxPool2d(2),
        {"relu": nn.ReLU, "elu": nn.ELU}[activation](),
        FlattenChannelsLast(),
        nn.Linear(filters * rows * columns, classes),
    )


MODELS = {"fashion-conv": fashion_conv}
