"""The WideResNet, in PyTorch."""

import torch
from torch import nn

from paragone.models.torch import KERAS_BATCH_NORM


def _conv_norm_relu(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel_size=3, padding=1),
        nn.BatchNorm2d(outputs, **KERAS_BATCH_NORM),
        nn.ReLU(),
    )


class WideBlock(nn.Module):
    """Two convolutions plus a shortcut, which is a 1 x 1 convolution if `project`."""

    def __init__(self, inputs: int, outputs: int, dropout: float, project: bool) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            _conv_norm_relu(inputs, outputs),
            nn.Dropout(dropout),
            _conv_norm_relu(outputs, outputs),
        )
        self.shortcut = nn.Conv2d(inputs, outputs, kernel_size=1) if project else nn.Identity()

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the block's output, (batch, outputs, height, width)."""
        return self.shortcut(features) + self.residual(features)


def wide_resnet(shape: tuple[int, int, int], classes: int, width: int, dropout: float) -> nn.Module:
    """WideResNet-16 of the batch size lab: three stages of two blocks, with pooling in between."""
    widths = [16 * width, 32 * width, 64 * width]
    layers: list[nn.Module] = [_conv_norm_relu(shape[2], 16)]
    for inputs, outputs in zip([16, *widths], widths, strict=False):
        pool = [] if outputs == widths[0] else [nn.MaxPool2d(2)]
        layers += [
            *pool,
            WideBlock(inputs, outputs, dropout, project=True),
            WideBlock(outputs, outputs, dropout, project=False),
        ]
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], classes)
    )


MODELS = {"wide-resnet": wide_resnet}
