"""The model in PyTorch. Inputs are channels first; the order of layers is that of the other framework."""

import math

from torch import nn

from paragone.models.torch import FlattenChannelsLast


def model(shape: tuple[int, ...], classes: int, hidden: int) -> nn.Module:
    """shape: of one input, channels last; hidden: as the config says."""
    return nn.Sequential(
        FlattenChannelsLast(),
        nn.Linear(math.prod(shape), hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    )


MODELS = {"{{ workload }}": model}
