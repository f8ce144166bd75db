"""LeNet and ResNet-18 of "Dive into Deep Learning", in PyTorch."""

from itertools import pairwise

import torch
from paragone.models.d2l_enlarging import between
from torch import nn

from paragone.models.torch import FlattenChannelsLast


def lenet(shape: tuple[int, int, int], classes: int) -> nn.Module:
    """LeNet of "Dive into Deep Learning": two 5 x 5 convolutions, pooled by means, three dense layers."""
    rows, columns = ((side // 2 - 4) // 2 for side in shape[:2])
    return nn.Sequential(
        nn.Conv2d(shape[2], 6, kernel_size=5, padding=2),
        nn.Sigmoid(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, kernel_size=5),
        nn.Sigmoid(),
        nn.AvgPool2d(2),
        FlattenChannelsLast(),
        nn.Linear(16 * rows * columns, 120),
        nn.Sigmoid(),
        nn.Linear(120, 84),
        nn.Sigmoid(),
        nn.Linear(84, classes),
    )


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions plus a shortcut, rectified; where channels change they have the stride 2.

    The shortcut then is a 1 x 1 convolution without batch norm.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.residual = nn.Sequential(
            nn.Conv2d(inputs, outputs, kernel_size=3, stride=stride, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, kernel_size=3, padding=1),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, kernel_size=1, stride=stride)
        self.rectify = nn.ReLU()

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the block's output, (batch, outputs, height / stride, width / stride)."""
        return self.rectify(self.residual(features) + self.shortcut(features))


def resnet_18(
    shape: tuple[int, int, int], classes: int, width: int, resize: int | None = None
) -> nn.Module:
    """ResNet-18 of "Dive into Deep Learning", with a bias in each convolution.

    `width`: channels of the first one, 64 as published. `resize`: pixels per side to which images are
    enlarged, bilinear.
    """
    layers: list[nn.Module] = []
    if resize:
        between(max(shape[:2]), resize)
        layers.append(nn.Upsample((resize, resize), mode="bilinear"))
    layers += [
        nn.Conv2d(shape[2], width, kernel_size=7, stride=2, padding=3),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    for inputs, outputs in pairwise([width, width, 2 * width, 4 * width, 8 * width]):
        layers += [BasicBlock(inputs, outputs), BasicBlock(outputs, outputs)]
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, classes)
    )


MODELS = {"lenet": lenet, "resnet-18": resnet_18}
