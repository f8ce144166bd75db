"""The models in PyTorch, for the engines `torch` and `torch_xla`.

Each function takes the shape of one example (channels last, as stored), the number of classes and
the options of the workload's `model` block, and returns a module from (batch, channels, height, width)
to logits. Layers are registered in forward order: `paragone.engines.torch_weights` relies on it.
"""

from collections.abc import Callable

import torch
from torch import nn


class FlattenChannelsLast(nn.Module):
    """(N, C, H, W) to (N, H*W*C): the canonical feature order, and free in channels-last memory."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Flatten one batch of feature maps."""
        return features.permute(0, 2, 3, 1).flatten(1)


def fashion_cnn(shape: tuple[int, int, int], classes: int) -> nn.Module:
    """Two 5 x 5 convolutions of 10 and 20 filters, pooled, rectified, then batch norm; two dense layers."""
    side = ((shape[0] - 4) // 2 - 4) // 2
    return nn.Sequential(
        nn.Conv2d(shape[2], 10, kernel_size=5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.BatchNorm2d(10),
        nn.Conv2d(10, 20, kernel_size=5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.BatchNorm2d(20),
        FlattenChannelsLast(),
        nn.Linear(20 * side * side, 50),
        nn.ReLU(),
        nn.Linear(50, classes),
    )


def fashion_conv(shape: tuple[int, int, int], classes: int) -> nn.Module:
    """One 3 x 3 convolution of 64 filters, pooled, rectified; one dense layer."""
    side = (shape[0] - 2) // 2
    return nn.Sequential(
        nn.Conv2d(shape[2], 64, kernel_size=3),
        nn.MaxPool2d(2),
        nn.ReLU(),
        FlattenChannelsLast(),
        nn.Linear(64 * side * side, classes),
    )


MODELS: dict[str, Callable[..., nn.Module]] = {
    "fashion-cnn": fashion_cnn,
    "fashion-conv": fashion_conv,
}
