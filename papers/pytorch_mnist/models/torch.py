"""The convolutional network of PyTorch's MNIST example, in PyTorch."""

from torch import nn

from paragone.models.torch import FlattenChannelsLast


def pytorch_convnet(shape: tuple[int, int, int], classes: int) -> nn.Module:
    """Two rectified 3 x 3 convolutions of 32 and 64 filters, pooled; two dense layers, each after dropout."""
    rows, columns = ((side - 4) // 2 for side in shape[:2])
    return nn.Sequential(
        nn.Conv2d(shape[2], 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        FlattenChannelsLast(),
        nn.Linear(64 * rows * columns, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, classes),
    )


MODELS = {"pytorch-convnet": pytorch_convnet}
