"""Layers that models in PyTorch share, the names of their weights, and the models that engines find by name.

The function of a model takes the shape of one example (channels last, as stored), the number of classes and
the options of the workload's `model` block, and returns a module from (batch, channels, height, width)
to logits. Layers are registered in forward order, which `canonical_entries` relies on.
"""

import math
import re
from argparse import Namespace
from collections.abc import Callable, Iterator
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
from paragone.config.run_spec import MODEL, Initializer
from paragone.models.start import damaged, unwrapped
from paragone.models.weights import BUFFER, FROZEN, Weights


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


def require_names(module: nn.Module, initializer: Initializer) -> nn.Module:
    """Return the module. Raises `UserError` if a weight lacks a canonical name that the initializer needs."""
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
    if initializer == MODEL:
        return module
    names = {id(tensor) for _, tensor, _ in canonical_entries(module)}
    for path, weight in module.named_parameters():
        if id(weight) not in names:
            layer = type(module.get_submodule(path.rpartition(".")[0])).__name__
            raise UserError(
                f"model: weight {path!r} belongs to {layer}, whose weights have no counterpart in other "
                "frameworks; write `initializer: model` and variants of PyTorch alone, or use Linear, "
                "Conv1d, Conv2d, Embedding, BatchNorm2d and LayerNorm"
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


Entries = Iterator[tuple[str, torch.Tensor, tuple[int, ...]]]


def entries_by(initializer: Initializer) -> Callable[[nn.Module], Entries]:
    """Return what yields the arrays of a module by the names that an initializer asks for."""
    return native_entries if initializer == MODEL else canonical_entries


def native_entries(module: nn.Module) -> Entries:
    """Yield what `canonical_entries` does of any module, with PyTorch's names and axes.

    Buffers of whole numbers, such as counters, are left out.
    """
    for name, weight in module.named_parameters():
        yield name + ("" if weight.requires_grad else FROZEN), weight, tuple(range(weight.dim()))
    for name, buffer in module.named_buffers():
        if buffer.is_floating_point():
            yield name + BUFFER, buffer, tuple(range(buffer.dim()))


def canonical_entries(module: nn.Module) -> Entries:
    """Yield canonical name, tensor and permutation to canonical axes of each weight, in forward order."""
    weighted = [(child, layout) for child in module.modules() if (layout := _layout(child))]
    before: set[int] = set()  # a weight that several layers share is that of the first
    for index, (child, (kind, parts)) in enumerate(weighted):
        for part, (attribute, axes) in parts.items():
            tensor = getattr(child, attribute)
            if tensor is not None and id(tensor) not in before:
                before.add(id(tensor))
                is_frozen = isinstance(tensor, nn.Parameter) and not tensor.requires_grad
                yield f"{index}.{kind}.{part}{FROZEN * is_frozen}", tensor, axes


def export(
    entries: Entries, read: Callable[[torch.Tensor], torch.Tensor | None] = lambda tensor: tensor
) -> dict:
    """Return canonical arrays of `read(tensor)` for every weight, e.g. its gradient; leaves out None."""
    return {
        # A copy, which must not change when training continues.
        name: np.array(value.detach().cpu().permute(axes).numpy(), order="C")
        for name, tensor, axes in entries
        if (value := read(tensor)) is not None
    }


@torch.no_grad()
def load_weights(
    entries: Entries,
    weights: dict,
    shard_like: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = lambda full, like: full,
) -> None:
    """Copy arrays into the tensors of entries; `shard_like`: see `Torch.shard_like`."""
    for name, tensor, axes in entries:
        inverse = sorted(range(len(axes)), key=axes.__getitem__)
        tensor.copy_(shard_like(torch.from_numpy(weights[name]).permute(inverse), tensor))


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
