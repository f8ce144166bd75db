"""ResNet-50 in PyTorch: torchvision's blocks and, at width 64, torchvision's function."""

from torch import nn
from torchvision.models.resnet import Bottleneck, conv1x1


def resnet50(shape: tuple[int, int, int], classes: int, width: int, blocks: list[int]) -> nn.Module:
    """ResNet-50 (He et al., arXiv:1512.03385) with a block's stride in its 3 x 3 convolution.

    width: channels of the first convolution, 64 as published; blocks: of each stage, 3, 4, 6 and 3.
    """
    layers: list[nn.Module] = [
        nn.Conv2d(shape[2], width, kernel_size=7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    inputs = width
    for stage, count in enumerate(blocks):
        filters = width * 2**stage
        outputs = filters * Bottleneck.expansion
        for block in range(count):
            stride = 2 if stage and not block else 1
            shortcut = None
            if not block:
                shortcut = nn.Sequential(conv1x1(inputs, outputs, stride), nn.BatchNorm2d(outputs))
            layers.append(Bottleneck(inputs, filters, stride, shortcut))
            nn.init.zeros_(layers[-1].bn3.weight)  # a block starts as its shortcut
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


MODELS = {"resnet50": resnet50}
