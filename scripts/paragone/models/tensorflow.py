"""Layers that models in Keras share, the names of their weights, and the models that are found by name.

The function of a model takes the shape of one example (channels last), the number of classes and the options
of the workload's `model` block, and returns a model from (batch, height, width, channels) to logits.
"""

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import h5py
import numpy as np

from paragone.base import plugins
from paragone.base.tensorflow import keras, tf
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
    bare,
    canonical_arrays,
)

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


_DENSE = {"kernel": "kernel", "bias": "bias"}
_AFFINE = {"gamma": "gamma", "beta": "beta"}
_CELL = {"kernel": "kernel", "recurrent_kernel": "recurrent_kernel", "bias": "bias"}
# Keras layer class -> canonical kind, and by part the name of its variable.
_KINDS: dict[str, tuple[str, dict[str, str]]] = {
    **{f"Conv{n}D": (f"conv{n}d", _DENSE) for n in (1, 2, 3)},
    **{f"Conv{n}DTranspose": (f"conv{n}d_transpose", _DENSE) for n in (1, 2, 3)},
    **{f"DepthwiseConv{n}D": (f"depthwise_conv{n}d", _DENSE) for n in (1, 2)},
    "Embedding": ("embedding", {"embeddings": "embeddings"}),
    "Dense": ("dense", _DENSE),
    "Residual": ("residual_dense", {"kernel": "kernel"}),
    "EinsumDense": ("dense", _DENSE),
    "BatchNormalization": (
        "batch_norm",
        _AFFINE | {"moving_mean": "moving_mean", "moving_variance": "moving_variance"},
    ),
    "LayerNormalization": ("layer_norm", _AFFINE),
    "GroupNormalization": ("group_norm", _AFFINE),
    "RMSNormalization": ("rms_norm", {"gamma": "scale"}),
    "LSTMCell": ("lstm", _CELL),
    "GRUCell": ("gru", _CELL | {"recurrent_bias": "bias"}),
    "SimpleRNNCell": ("rnn", _CELL),
}


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
            name = f"{variable.path}{number}"
            yield name + role, variable, Layout(name, tuple(variable.shape))


def buffers_of(model: keras.Layer) -> list[keras.Variable]:
    """Return the arrays of floats that are no parameters, such as batch norm's statistics."""
    layers = model._flatten_layers()
    buffers = {id(variable) for layer in layers for variable in layer._non_trainable_variables}
    return [v for v in model.weights if id(v) in buffers and tf.as_dtype(v.dtype).is_floating]


def canonical_entries(model: keras.Layer, pairs: Mapping[str, str] = {}) -> Entries:
    """Yield canonical name, variable and layout of every weight, in forward order.

    Nested layers follow in the order of their assignment. `pairs`: see `weights.canonical_arrays`.
    """
    return canonical_arrays(map(_arrays_of, layers_in(model)), native_entries(model), dict(pairs))


def _class_of(layer: keras.Layer) -> str:
    return next((kind.__name__ for kind in type(layer).__mro__ if kind.__name__ in _KINDS), "")


def _arrays_of(layer: keras.Layer) -> Layer:
    """Return a layer's own name, canonical kind and arrays, whose layout is the canonical one but for a few.

    Attention heads become one axis. A convolution with a group for each channel is a depthwise one. A GRU
    with `reset_after` has two biases in one variable; another is another function.
    """
    kind, parts = _KINDS.get(_class_of(layer), ("", {}))
    by_name = {variable.name: variable for variable in layer.variables}
    views: dict[str, View] = {}
    gates: tuple[int, ...] = ()
    path = next((variable.path for variable in by_name.values()), "").rpartition("/")[0]
    match kind:
        case "dense" if hasattr(layer, "equation"):
            _, kernel, result = layer.equation.replace("->", ",").split(",")
            inputs = sum(axis not in result for axis in kernel)  # those come first
            size = math.prod(by_name["kernel"].shape[:inputs])
            views = {"kernel": lambda array: array.reshape(size, -1), "bias": np.ravel}
        case "gru":
            gates = (1, 0, 2)  # the gates of update and of reset, which PyTorch and flax exchange
            if not layer.reset_after:
                kind, parts = "gru_of_reset_before", _CELL
            elif layer.use_bias:
                views = {"bias": lambda array: array[0], "recurrent_bias": lambda array: array[1]}
        case "conv1d" | "conv2d" | "conv3d" if layer.groups > 1 == by_name["kernel"].shape[-2]:
            kind, channels = f"depthwise_{kind}", layer.groups
            views = {"kernel": lambda array: array.reshape(*array.shape[:-2], channels, -1)}
        case "depthwise_conv1d" | "depthwise_conv2d" if by_name["kernel"].shape[-2] == 1:
            kind = kind.removeprefix("depthwise_")
    variables = {part: by_name.get(name) for part, name in parts.items()}
    return Layer(path, kind, {p: (v, views.get(p, as_it_is)) for p, v in variables.items()}, gates)


def layers_in(model: keras.Layer) -> Iterator[keras.Layer]:
    """Yield the layers of a model; nested layers take the place of the layer around them."""
    inside = (
        model.layers
        if isinstance(model, keras.Model)
        else model._flatten_layers(include_self=False, recursive=False)
    )
    for layer in inside:
        deeper = [] if _class_of(layer) else [*layers_in(layer)]
        yield from deeper or [layer]


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
            layer.call = lambda *inputs, call=layer.call, **options: call(
                *inputs, **options | {"training": False}
            )
        for name, rate in vars(layer).items():
            if "drop" in name.lower() and isinstance(rate, float) and rate:
                was_on = True
                setattr(layer, name, 0.0)
    return was_on


_AT_RANDOM = ("Drop", "Noise", "Random")


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
