"""A perceptron with one hidden layer, in PyTorch."""

import math

from torch import nn

from paragone.models.torch import FlattenChannelsLast


def my_mlp(shape: tuple[int, ...], classes: int, hidden: int) -> nn.Module:
    """Return the model for inputs of `shape`, channels last."""
    return nn.Sequential(
        FlattenChannelsLast(),
        nn.Linear(math.prod(shape), hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    )


MODELS = {"my-mlp": my_mlp}
