"""Layers that models in Keras share, the names of their weights, and the models that are found by name.

The function of a model takes the shape of one example (channels last), the number of classes and the options
of the workload's `model` block, and returns a model from (batch, height, width, channels) to logits.
"""

import math
from collections.abc import Callable, Iterator

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.base.tensorflow import keras
from paragone.config.run_spec import MODEL, Initializer

layers = keras.layers

# PyTorch's constants: its running average keeps 0.9 of the old value.
BATCH_NORM = {"momentum": 0.9, "epsilon": 1e-5}


def mlp(shape: tuple[int, ...], classes: int, hidden: list[int]) -> keras.Model:
    """Dense layers of `hidden` outputs, each rectified; one dense layer."""
    dense = [layers.Dense(outputs, activation="relu") for outputs in hidden]
    return keras.Sequential([layers.Input(shape), layers.Flatten(), *dense, layers.Dense(classes)])


class Residual(keras.layers.Dense):
    """A dense layer without bias whose output is added to its block's input."""

    def __init__(self, outputs: int) -> None:
        super().__init__(outputs, use_bias=False)


# Keras layer class -> canonical kind and parts, in Keras' own order of variables
_KINDS = {
    "Conv1D": ("conv1d", ("kernel", "bias")),
    "Conv2D": ("conv2d", ("kernel", "bias")),
    "DepthwiseConv2D": ("depthwise_conv2d", ("kernel", "bias")),
    "Embedding": ("embedding", ("embeddings",)),
    "Dense": ("dense", ("kernel", "bias")),
    "Residual": ("residual_dense", ("kernel",)),
    "EinsumDense": ("dense", ("kernel", "bias")),
    "BatchNormalization": ("batch_norm", ("gamma", "beta", "moving_mean", "moving_variance")),
    "LayerNormalization": ("layer_norm", ("gamma", "beta")),
}


def entries(model: keras.Model) -> Iterator[tuple[str, keras.Variable, tuple[int, ...]]]:
    """Yield canonical name, variable and canonical shape of every weight, in forward order.

    Nested layers follow in the order of their assignment. Keras' layout is the canonical one, except that
    attention heads become one axis.
    """
    weighted = [layer for layer in layers_in(model) if type(layer).__name__ in _KINDS]
    for index, layer in enumerate(weighted):
        kind, parts = _KINDS[type(layer).__name__]
        by_part = {variable.name: variable for variable in layer.variables}
        for part in parts:
            if part in by_part:
                yield f"{index}.{kind}.{part}", by_part[part], _shape(layer, by_part[part])


def layers_in(model: keras.Layer) -> Iterator[keras.Layer]:
    """Yield the layers of a model; nested layers take the place of the layer around them."""
    inside = (
        model.layers
        if isinstance(model, keras.Model)
        else model._flatten_layers(include_self=False, recursive=False)
    )
    for layer in inside:
        deeper = [] if type(layer).__name__ in _KINDS else [*layers_in(layer)]
        yield from deeper or [layer]


def _shape(layer: keras.Layer, variable: keras.Variable) -> tuple[int, ...]:
    shape = tuple(variable.shape)
    if type(layer).__name__ != "EinsumDense":
        return shape
    if variable.name == "bias":
        return (math.prod(shape),)
    _, kernel, result = layer.equation.replace("->", ",").split(",")
    inputs = sum(axis not in result for axis in kernel)  # those come first
    return math.prod(shape[:inputs]), math.prod(shape[inputs:])


def require_names(model: keras.Model, initializer: Initializer) -> keras.Model:
    """Return the model. Raises `UserError` if a weight lacks a canonical name that the initializer needs."""
    if initializer == MODEL:
        return model
    names = {id(variable) for _, variable, _ in entries(model)}
    for variable in model.trainable_variables:
        if id(variable) not in names:
            raise UserError(
                f"model: weight {variable.path!r} belongs to a layer whose weights the project cannot name; "
                f"use {', '.join(_KINDS)}"
            )
    return model


MODELS: dict[str, Callable[..., keras.Model]] = plugins.extend("models/tensorflow.py", {"mlp": mlp})
