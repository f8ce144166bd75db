"""The small convolutional network of Keras' MNIST example, in PyTorch."""

from torch import nn

from paragone.models.torch import FlattenChannelsLast


def keras_convnet(shape: tuple[int, int, int], classes: int) -> nn.Module:
    """Two 3 x 3 convolutions of 32 and 64 filters, each rectified and pooled; dropout; one dense layer."""
    rows, columns = (((side - 2) // 2 - 2) // 2 for side in shape[:2])
    return nn.Sequential(
        nn.Conv2d(shape[2], 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        FlattenChannelsLast(),
        nn.Dropout(0.5),
        nn.Linear(64 * rows * columns, classes),
    )


MODELS = {"keras-convnet": keras_convnet}
