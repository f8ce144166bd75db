"""Layers that models in Keras share, the names of their weights, and the models that are found by name.

The function of a model takes the shape of one example (channels last), the number of classes and the options
of the workload's `model` block, and returns a model from (batch, height, width, channels) to logits.
"""

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.base.tensorflow import keras, tf
from paragone.config.run_spec import MODEL, Initializer
from paragone.models.start import bare, damaged, unwrapped
from paragone.models.weights import BUFFER, FROZEN, Weights

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


Entries = Iterator[tuple[str, keras.Variable, tuple[int, ...]]]


def entries_by(initializer: Initializer) -> Callable[[keras.Layer], Entries]:
    """Return what yields the arrays of a model by the names that an initializer asks for."""
    return native_entries if initializer == MODEL else canonical_entries


def native_entries(model: keras.Layer) -> Entries:
    """Yield what `canonical_entries` does of any model, with Keras' paths; the second of a path is numbered.

    Arrays of whole numbers, such as counters, are left out.
    """
    learned = {id(variable) for variable in model.trainable_variables}
    buffers = {id(variable) for variable in buffers_of(model)}
    paths: Counter[str] = Counter()
    for variable in model.weights:
        if tf.as_dtype(variable.dtype).is_floating:
            paths[variable.path] += 1
            number = f" {paths[variable.path]}" if paths[variable.path] > 1 else ""
            role = BUFFER if id(variable) in buffers else FROZEN * (id(variable) not in learned)
            yield f"{variable.path}{number}{role}", variable, tuple(variable.shape)


def buffers_of(model: keras.Layer) -> list[keras.Variable]:
    """Return the arrays of floats that are no parameters, such as batch norm's statistics."""
    layers = model._flatten_layers()
    buffers = {id(variable) for layer in layers for variable in layer._non_trainable_variables}
    return [v for v in model.weights if id(v) in buffers and tf.as_dtype(v.dtype).is_floating]


def canonical_entries(model: keras.Layer) -> Entries:
    """Yield canonical name, variable and canonical shape of every weight, in forward order.

    Nested layers follow in the order of their assignment. Keras' layout is the canonical one, except that
    attention heads become one axis.
    """
    roles = (model.trainable_variables, buffers_of(model))
    unfrozen = {id(variable) for role in roles for variable in role}
    weighted = [layer for layer in layers_in(model) if type(layer).__name__ in _KINDS]
    for index, layer in enumerate(weighted):
        kind, parts = _KINDS[type(layer).__name__]
        by_part = {variable.name: variable for variable in layer.variables}
        for part in parts:
            if part in by_part:
                variable = by_part[part]
                frozen = FROZEN * (id(variable) not in unfrozen)
                yield f"{index}.{kind}.{part}{frozen}", variable, _shape(layer, variable)


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
    names = {id(variable) for _, variable, _ in canonical_entries(model)}
    for path, variable, _ in native_entries(model):
        if id(variable) not in names:
            raise UserError(
                f"model: weight {path!r} belongs to a layer whose weights have no counterpart in other "
                "frameworks; write `initializer: model` and variants of TensorFlow alone, or use "
                f"{', '.join(_KINDS)}"
            )
    return model


def dropout_off(model: keras.Layer) -> bool:
    """Switch off what drops or changes values at random in training; return whether something was on.

    That is each layer without weights whose class has one of `_AT_RANDOM` in its name, which then works as in
    evaluation, and each rate that an attribute with "drop" in its name holds, such as those of recurrent
    layers and of attention.
    """
    was_on = False
    for layer in model._flatten_layers():
        is_random = any(word in type(layer).__name__ for word in _AT_RANDOM)
        if is_random and layer._call_has_training_arg and not layer.weights:
            was_on |= bool(getattr(layer, "rate", getattr(layer, "stddev", 1)))
            layer.call = _in_evaluation(layer.call)
        for name, rate in vars(layer).items():
            if "drop" in name.lower() and isinstance(rate, float) and rate:
                was_on = True
                setattr(layer, name, 0.0)
    return was_on


_AT_RANDOM = ("Drop", "Noise", "Random")


def _in_evaluation(call: Callable) -> Callable:
    return lambda *inputs, **options: call(*inputs, **options | {"training": False})


def set_seed(model: keras.Layer, seed: int) -> None:
    """Seed each generator of a model by a number and its own place."""
    ordered = [*layers_in(model)]
    rest = [layer for layer in model._flatten_layers() if layer not in ordered]
    for index, layer in enumerate([*ordered, *rest]):
        for further, generator in enumerate(layer._seed_generators):
            generator.state.assign([seed, index + 2**16 * further])


def read_start(path: Path, model: keras.Model) -> tuple[Weights, list[str]]:
    """Return the arrays of a weights file of Keras as `native_entries` names them, and notices.

    The file names arrays by their place in a model. One that the model itself writes, with the number of each
    variable as its value, says which place is whose. Raises `UserError` as `unwrapped` does.
    """
    kept = model.get_weights()
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "own.weights.h5")
        model.set_weights([np.full_like(values, number) for number, values in enumerate(kept)])
        model.save_weights(written)
        model.set_weights(kept)
        numbers = {place: int(values.flat[0]) for place, values in _arrays_in(written).items()}
    of_variable = {id(variable): bare(name) for name, variable, _ in native_entries(model)}
    variables = {place: id(model.weights[number]) for place, number in numbers.items()}
    names = {p: of_variable[v] for p, v in variables.items() if v in of_variable}
    try:
        content = _arrays_in(path)
    except Exception as error:
        raise damaged(path, error) from None
    arrays, notices = unwrapped(content, path, names)
    return {names.get(place, place): values for place, values in arrays.items()}, notices


def _arrays_in(path: Path) -> Weights:
    arrays: Weights = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, node: arrays.update({name: node} if hasattr(node, "dtype") else {})
        )
        return {name: array[()] for name, array in arrays.items()}


plugins.SWITCHES |= {
    "run_functions_eagerly": (tf.config.functions_run_eagerly, tf.config.run_functions_eagerly),
    "floatx": (keras.config.floatx, keras.config.set_floatx),
    "dtype policy": (lambda: keras.config.dtype_policy().name, keras.config.set_dtype_policy),
    "data format": (keras.config.image_data_format, keras.config.set_image_data_format),
    "JIT": (lambda: bool(tf.config.optimizer.get_jit()), tf.config.optimizer.set_jit),
}
MODELS: dict[str, Callable[..., keras.Model]] = plugins.extend("models/tensorflow.py", {"mlp": mlp})
