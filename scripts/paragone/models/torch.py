"""Layers that models in PyTorch share, and the models that its engines find by name.

The function of a model takes the shape of one example (channels last, as stored), the number of classes and
the options of the workload's `model` block, and returns a module from (batch, channels, height, width)
to logits. Layers are registered in forward order: `paragone.engines.torch_weights` relies on it.
"""

import math
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import nn

from paragone.base import plugins


class FlattenChannelsLast(nn.Module):
    """(N, C, ...) to (N, ... * C): the canonical feature order, and free in channels-last memory."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Flatten one batch of feature maps."""
        return features.movedim(1, -1).flatten(1)


def mlp(shape: tuple[int, ...], classes: int, hidden: list[int]) -> nn.Module:
    """Dense layers of `hidden` outputs, each rectified; one dense layer."""
    widths = [math.prod(shape), *hidden]
    layers: list[nn.Module] = [FlattenChannelsLast()]
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], classes))


# Keras' defaults: its running average keeps 0.99 of the old value.
KERAS_BATCH_NORM = {"momentum": 0.01, "eps": 1e-3}


class Residual(nn.Linear):
    """A dense layer without bias whose output is added to its block's input."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)


MODELS: dict[str, Callable[..., nn.Module]] = plugins.extend("models/torch.py", {"mlp": mlp})
