"""The perceptron of Keras' MNIST example, in PyTorch."""

import math

from torch import nn

from paragone.models.torch import FlattenChannelsLast


def keras_mlp(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Two dense layers of 512 outputs, each rectified, a fifth of them dropped; one dense layer."""
    return nn.Sequential(
        FlattenChannelsLast(),
        nn.Linear(math.prod(shape), 512),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(512, 512),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(512, classes),
    )


MODELS = {"keras-mlp": keras_mlp}
