"""Canonical names and layouts of a flax model's weights."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from flax import nnx

from paragone.base.errors import UserError
from paragone.models.jax import Embedding

# Class of a layer -> canonical kind; parts and attributes. Of a convolution the kind depends on its shape.
_KINDS: dict[type, tuple[str, dict[str, str]]] = {
    nnx.Conv: ("conv", {"kernel": "kernel", "bias": "bias"}),
    nnx.Linear: ("dense", {"kernel": "kernel", "bias": "bias"}),
    nnx.LinearGeneral: ("dense", {"kernel": "kernel", "bias": "bias"}),
    Embedding: ("embedding", {"embeddings": "embedding"}),
    nnx.Embed: ("embedding", {"embeddings": "embedding"}),
    nnx.BatchNorm: (
        "batch_norm",
        {"gamma": "scale", "beta": "bias", "moving_mean": "mean", "moving_variance": "var"},
    ),
    nnx.LayerNorm: ("layer_norm", {"gamma": "scale", "beta": "bias"}),
}


@dataclass(frozen=True)
class Layout:
    """How an array of a layer becomes canonical: its axes, exchanged in pairs, then its shape."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]  # the canonical one
    own: tuple[int, ...]

    def canonical(self, array: jax.Array) -> np.ndarray:
        """A copy of the layer's array in canonical layout."""
        return np.array(array.transpose(self.axes).reshape(self.shape))

    def native(self, array: np.ndarray) -> np.ndarray:
        """A canonical array in the layout of the layer."""
        return array.reshape([self.own[axis] for axis in self.axes]).transpose(self.axes)


def named(model: nnx.Module) -> Iterator[tuple[str, nnx.Variable, Layout]]:
    """Canonical name, variable and layout of every weight, in forward order."""
    for index, layer in enumerate(weighted(model)):
        kind, parts = _KINDS[type(layer)]
        if isinstance(layer, nnx.Conv):
            depthwise = "depthwise_" if layer.feature_group_count > 1 else ""
            kind = f"{depthwise}conv{len(layer.kernel_size)}d"
        for part, attribute in parts.items():
            variable = getattr(layer, attribute)
            if variable is not None:
                yield f"{index}.{kind}.{part}", variable, _layout(layer, kind, part, variable)


def _layout(layer: Any, kind: str, part: str, variable: nnx.Variable) -> Layout:
    """Canonical as it is, but for a depthwise kernel and for heads of an attention: one axis."""
    own = variable[...].shape
    axes = tuple(range(len(own)))
    if kind == "depthwise_conv2d" and part == "kernel":
        axes = (0, 1, 3, 2)
    shape = tuple(own[axis] for axis in axes)
    if isinstance(layer, nnx.LinearGeneral):
        outputs = math.prod(layer.out_features)
        shape = (math.prod(own) // outputs, outputs) if part == "kernel" else (outputs,)
    return Layout(axes, shape, own)


def known(model: nnx.Module) -> nnx.Module:
    """The model; raises `UserError` if it has a weight without a canonical name."""
    names = {id(variable) for _, variable, _ in named(model)}
    for path, variable in nnx.iter_graph(model):
        if isinstance(variable, nnx.Param) and id(variable) not in names:
            raise UserError(
                f"model: weight {'.'.join(map(str, path))!r} belongs to a layer whose weights the project "
                f"cannot name; use {', '.join(sorted({kind.__name__ for kind in _KINDS}))}"
            )
    return model


def weighted(module: Any) -> Iterator[Any]:
    """The layers with weights, in forward order."""
    if type(module) in _KINDS:
        yield module
    elif isinstance(module, nnx.List):
        for child in module:
            yield from weighted(child)
    elif isinstance(module, nnx.Module):
        for child in vars(module).values():
            yield from weighted(child)
