"""The convolutional network of the Colab notebook, in PyTorch."""

from torch import nn

from paragone.models.torch import FlattenChannelsLast


def fashion_cnn(shape: tuple[int, int, int], classes: int) -> nn.Module:
    """Two 5 x 5 convolutions of 10 and 20 filters, pooled, rectified, then batch norm; two dense layers."""
    rows, columns = (((side - 4) // 2 - 4) // 2 for side in shape[:2])
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
        nn.Linear(20 * rows * columns, 50),
        nn.ReLU(),
        nn.Linear(50, classes),
    )


MODELS = {"fashion-cnn": fashion_cnn}
