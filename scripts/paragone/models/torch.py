"""Layers that models in PyTorch share, the names of their weights, and the models that engines find by name.

The function of a model takes the shape of one example (channels last, as stored), the number of classes and
the options of the workload's `model` block, and returns a module from (batch, channels, height, width)
to logits. Layers are registered in forward order, which `canonical_entries` relies on.
"""

import math
import re
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.backends import cudnn
from torch.nn.parameter import is_lazy

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.models.start import damaged, unwrapped
from paragone.models.weights import (
    BUFFER,
    FROZEN,
    Entries,
    Layer,
    Layout,
    View,
    Weights,
    as_it_is,
    canonical_arrays,
    native_arrays,
)


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


Parts = dict[str, tuple[str, View]]


def _kernel(array: np.ndarray) -> np.ndarray:
    """View (outputs, inputs, ...) as (..., inputs, outputs); of a transposed one, both are exchanged."""
    return array.transpose(*range(2, array.ndim), 1, 0)


def _depthwise(channels: int, array: np.ndarray) -> np.ndarray:
    """View (channels x multiplier, 1, ...) as (..., channels, multiplier)."""
    split = array.reshape(channels, -1, *array.shape[2:])
    return split.transpose(*range(2, split.ndim), 0, 1)


def _third(place: int, array: np.ndarray) -> np.ndarray:
    return np.split(array, 3)[place].T


matrix: View = np.transpose
_CELL = {
    "kernel": "weight_ih",
    "recurrent_kernel": "weight_hh",
    "bias": "bias_ih",
    "recurrent_bias": "bias_hh",
}
_AFFINE: Parts = {"gamma": ("weight", as_it_is), "beta": ("bias", as_it_is)}
_STATISTICS: Parts = {
    "moving_mean": ("running_mean", as_it_is),
    "moving_variance": ("running_var", as_it_is),
}


def _kinds(layer: nn.Module) -> Iterator[tuple[str, str, Parts]]:
    """Yield what distinguishes a layer within a module, its kind, and attribute and view of each part."""
    parts: Parts
    bias: Parts = {"bias": ("bias", as_it_is)}
    match layer:
        case nn.modules.conv._ConvNd() if not (layer.transposed and layer.groups > 1):
            kind, view = f"conv{len(layer.kernel_size)}d" + "_transpose" * layer.transposed, _kernel
            if layer.groups == layer.in_channels > 1:
                kind, view = f"depthwise_{kind}", partial(_depthwise, layer.groups)
            yield "", kind, {"kernel": ("weight", view), **bias}
        case Residual():
            yield "", "residual_dense", {"kernel": ("weight", matrix)}
        case nn.Linear():
            yield "", "dense", {"kernel": ("weight", matrix), **bias}
        case nn.Embedding():
            yield "", "embedding", {"embeddings": ("weight", as_it_is)}
        case nn.modules.batchnorm._BatchNorm():
            yield "", "batch_norm", _AFFINE | _STATISTICS
        case nn.LayerNorm() if len(layer.normalized_shape) == 1:
            yield "", "layer_norm", _AFFINE
        case nn.GroupNorm() | nn.modules.instancenorm._InstanceNorm():
            yield "", "group_norm", _AFFINE
        case nn.RMSNorm() if len(layer.normalized_shape) == 1:
            yield "", "rms_norm", {"gamma": ("weight", as_it_is)}
        case nn.MultiheadAttention() if layer.in_proj_weight is not None:
            for place in range(3):  # of queries, keys and values
                view = partial(_third, place)
                parts = {"kernel": ("in_proj_weight", view), "bias": ("in_proj_bias", view)}
                yield "", "dense", parts
        case nn.RNNBase() | nn.RNNCellBase():
            kind = re.sub("cell|_.*", "", getattr(layer, "mode", type(layer).__name__).lower())
            of_cells = getattr(layer, "_all_weights", [["weight_ih"]])
            for suffix in (names[0].removeprefix("weight_ih") for names in of_cells):
                parts = {part: (f"{name}{suffix}", matrix) for part, name in _CELL.items()}
                yield suffix.removeprefix("_l0"), kind, parts


def require_arrays(module: nn.Module) -> nn.Module:
    """Return the module. Raises `UserError` if a weight has no shape, or is complex."""
    for path, weight in module.named_parameters():
        if is_lazy(weight):
            raise UserError(
                f"model: weight {path!r} has no shape before the first call; give its layer the number of "
                "inputs, or call the model on zeros, channels first, before its function returns it"
            )
        if weight.is_complex():
            raise UserError(
                f"model: weight {path!r} is complex, and weights are real; keep a real one whose last axis "
                "has both parts, and take torch.view_as_complex of it in `forward`"
            )
    return module


def dropout_off(module: nn.Module) -> bool:
    """Switch off what drops values at random in training; return whether something was on.

    That is each layer without weights that has "Drop" in the name of its class, which then stays in
    evaluation mode, and each rate that an attribute with "drop" in its name holds, such as those of recurrent
    layers and of attention.
    """
    was_on = False
    for layer in module.modules():
        has_weights = any(True for _ in layer.parameters())
        is_dropout = "Drop" in type(layer).__name__ and not has_weights
        if is_dropout:
            was_on |= bool(getattr(layer, "p", 1))
            layer.eval()
            layer.train = lambda *_, layer=layer: layer
        for name, rate in vars(layer).items():
            # A module may read the rate of a layer that it does not call.
            is_rate = "drop" in name.lower() or (is_dropout and name == "p")
            if is_rate and isinstance(rate, float) and rate:
                was_on = True
                setattr(layer, name, 0.0)
    return was_on


def native_entries(module: nn.Module) -> Entries:
    """Yield what `canonical_entries` does of any module, with PyTorch's names and axes.

    Buffers of whole numbers, such as counters, are left out.
    """
    for name, weight in module.named_parameters():
        role = "" if weight.requires_grad else FROZEN
        yield name + role, weight, Layout(name, tuple(weight.shape))
    for name, buffer in module.named_buffers():
        if buffer.is_floating_point():
            yield name + BUFFER, buffer, Layout(name, tuple(buffer.shape))


def canonical_entries(module: nn.Module, pairs: Mapping[str, str] = {}) -> Entries:
    """Return canonical name, tensor and layout of each weight, in forward order.

    `pairs`: names of other frameworks, and of this one, of what they do not find by order. A second bias of a
    recurrent layer that is frozen at 0 is none. Raises `UserError` for a pair that is not in the module.
    """
    left = {name: name for name in pairs.values()}
    entries = [*canonical_arrays(_layers(module), native_entries(module), left)]
    if left:
        raise UserError(
            f"model.pairs: the model of PyTorch has no layer or free parameter {min(left)!r}; write one of "
            f"{', '.join(dict.fromkeys(layout.path for _, _, layout in entries))}"
        )
    return [
        (name, tensor, layout)
        for name, tensor, layout in entries
        if not name.endswith(f".recurrent_bias{FROZEN}") or tensor.any()
    ]


def _layers(module: nn.Module) -> Iterator[Layer]:
    for path, layer in module.named_modules():
        for suffix, kind, parts in _kinds(layer):
            tensors = {
                part: (getattr(layer, name, None), view) for part, (name, view) in parts.items()
            }
            yield Layer(path + suffix, kind, tensors)


def export(
    entries: Entries, read: Callable[[torch.Tensor], torch.Tensor | None] = lambda tensor: tensor
) -> dict:
    """Return canonical arrays of `read(tensor)` for every weight, e.g. its gradient; leaves out None."""
    return {
        # A copy, which must not change when training continues.
        name: layout.canonical(value.detach().cpu().numpy())
        for name, tensor, layout in entries
        if (value := read(tensor)) is not None
    }


@torch.no_grad()
def load_weights(
    entries: Entries,
    weights: dict,
    shard_like: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = lambda full, like: full,
) -> None:
    """Copy arrays into the tensors of entries; `shard_like`: see `Torch.shard_like`."""
    for tensor, values in native_arrays(entries, weights):
        tensor.copy_(shard_like(torch.from_numpy(values), tensor))


# What programs save beside a state dict: the arguments of their call, and NumPy's numbers.
_NUMBERS = [np.float64, np.float32, np.int64, np.bool]
_SCALAR = np.float64(0).__reduce__()[0]
_HARMLESS = [Namespace, _SCALAR, np.dtype, *(type(np.dtype(number)) for number in _NUMBERS)]


@torch.no_grad()
def read_start(path: Path, module: nn.Module) -> tuple[Weights, list[str]]:
    """Return the arrays of a file as `native_entries` names them, and notices. Raises `UserError`.

    Buffers of whole numbers, such as an order that the model has drawn, are copied to the module.
    """
    try:
        if path.suffix == ".safetensors":
            content = load_file(path)
        else:
            with torch.serialization.safe_globals(_HARMLESS):
                content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        if match := re.search(r"GLOBAL ([\w.]+)", str(error)):
            raise UserError(
                f"{path}: holds a {match[1]}, and nothing but arrays is read, as all else may execute code; "
                "save the state dict alone: torch.save(model.state_dict(), file)"
            ) from None
        raise damaged(path, error) from None
    arrays, notices = unwrapped(content, path, module.state_dict().keys())
    for name, buffer in module.named_buffers():
        is_there = name in arrays and arrays[name].shape == buffer.shape
        if is_there and not buffer.is_floating_point():
            buffer.copy_(arrays.pop(name))
    first = {weight: name for name, weight in module.named_parameters()}
    for name, weight in module.named_parameters(remove_duplicate=False):
        shared = first[weight]  # of a weight that two layers share
        if name in arrays and arrays.get(shared, arrays[name]).equal(arrays[name]):
            arrays[shared] = arrays.pop(name)
    floats = {name: v.float() if v.is_floating_point() else v for name, v in arrays.items()}
    return {name: values.numpy() for name, values in floats.items()}, notices


def _default_device() -> torch.device | None:
    """Return the default device that is set; PyTorch's own function fails once it was set back."""
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return context and context.device


plugins.SWITCHES |= {
    "the default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "the default device": (_default_device, torch.set_default_device),
    "the number of threads": (torch.get_num_threads, torch.set_num_threads),
    "interop threads": (torch.get_num_interop_threads, torch.set_num_interop_threads),
    "gradient mode": (torch.is_grad_enabled, torch.set_grad_enabled),
    "anomaly detection": (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
    "deterministic algorithms": (
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    "matrix products": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    "cudnn.benchmark": (lambda: cudnn.benchmark, partial(setattr, cudnn, "benchmark")),
    plugins.SEED: (torch.initial_seed, torch.manual_seed),
}
MODELS: dict[str, Callable[..., nn.Module]] = plugins.extend("models/torch.py", {"mlp": mlp})
