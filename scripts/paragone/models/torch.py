"""Layers that models in PyTorch share, the names of their weights, and the models that engines find by name.

The function of a model takes the shape of one example (channels last, as stored), the number of classes and
the options of the workload's `model` block, and returns a module from (batch, channels, height, width)
to logits. Layers are registered in forward order, which `entries` relies on.
"""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from paragone.base import plugins
from paragone.base.errors import UserError


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


Layout = tuple[str, dict[str, tuple[str, tuple[int, ...]]]]


def _layout(module: nn.Module) -> Layout | None:
    """Return a layer's canonical kind, and attribute and axes of each part; None for one without weights."""
    match module:
        case nn.Conv2d() if module.groups > 1:
            return "depthwise_conv2d", {"kernel": ("weight", (2, 3, 0, 1)), "bias": ("bias", (0,))}
        case nn.Conv2d():
            return "conv2d", {"kernel": ("weight", (2, 3, 1, 0)), "bias": ("bias", (0,))}
        case nn.Conv1d():
            return "conv1d", {"kernel": ("weight", (2, 1, 0)), "bias": ("bias", (0,))}
        case Residual():
            return "residual_dense", {"kernel": ("weight", (1, 0))}
        case nn.Linear():
            return "dense", {"kernel": ("weight", (1, 0)), "bias": ("bias", (0,))}
        case nn.Embedding():
            return "embedding", {"embeddings": ("weight", (0, 1))}
        case nn.BatchNorm2d():
            return "batch_norm", {
                "gamma": ("weight", (0,)),
                "beta": ("bias", (0,)),
                "moving_mean": ("running_mean", (0,)),
                "moving_variance": ("running_var", (0,)),
            }
        case nn.LayerNorm() if len(module.normalized_shape) == 1:
            return "layer_norm", {"gamma": ("weight", (0,)), "beta": ("bias", (0,))}
    return None


def require_names(module: nn.Module) -> nn.Module:
    """Return the module. Raises `UserError` if a weight has no canonical name."""
    names = {id(tensor) for _, tensor, _ in entries(module)}
    for path, weight in module.named_parameters():
        if id(weight) not in names:
            layer = type(module.get_submodule(path.rpartition(".")[0])).__name__
            raise UserError(
                f"model: weight {path!r} belongs to {layer}, whose weights the project cannot name; use "
                "Linear, Conv1d, Conv2d, Embedding, BatchNorm2d and LayerNorm"
            )
    return module


def entries(module: nn.Module) -> Iterator[tuple[str, torch.Tensor, tuple[int, ...]]]:
    """Yield canonical name, tensor and permutation to canonical axes of each weight, in forward order."""
    weighted = [(child, layout) for child in module.modules() if (layout := _layout(child))]
    for index, (child, (kind, parts)) in enumerate(weighted):
        for part, (attribute, axes) in parts.items():
            tensor = getattr(child, attribute)
            if tensor is not None:
                yield f"{index}.{kind}.{part}", tensor, axes


def export(
    module: nn.Module, read: Callable[[torch.Tensor], torch.Tensor | None] = lambda tensor: tensor
) -> dict:
    """Return canonical arrays of `read(tensor)` for every weight, e.g. its gradient; leaves out None."""
    return {
        # A copy, which must not change when training continues.
        name: np.array(value.detach().cpu().permute(axes).numpy(), order="C")
        for name, tensor, axes in entries(module)
        if (value := read(tensor)) is not None
    }


@torch.no_grad()
def load_weights(
    module: nn.Module,
    weights: dict,
    shard_like: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = lambda full, like: full,
) -> None:
    """Copy canonical arrays into the module; `shard_like`: see `Torch.shard_like`."""
    for name, tensor, axes in entries(module):
        inverse = sorted(range(len(axes)), key=axes.__getitem__)
        tensor.copy_(shard_like(torch.from_numpy(weights[name]).permute(inverse), tensor))


MODELS: dict[str, Callable[..., nn.Module]] = plugins.extend("models/torch.py", {"mlp": mlp})
