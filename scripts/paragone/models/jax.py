"""Layers that models in flax NNX share, the names of their weights, and the models that `jax` finds by name.

The function of a model takes the shape of one example (channels last), the number of classes and the options
of the workload's `model` block, and returns a module from (batch, height, width, channels) to logits. Layers
are assigned in forward order, which `canonical_entries` relies on.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise, product
from operator import attrgetter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx, serialization, traverse_util
from safetensors.numpy import load_file

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.config.run_spec import MODEL, Initializer
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
)

# Keras' defaults: its running average keeps 0.99 of the old value.
KERAS_BATCH_NORM = {"momentum": 0.99, "epsilon": 1e-3}
TORCH_BATCH_NORM = {"momentum": 0.9, "epsilon": 1e-5}

# Canonical weights replace these; drawing random ones would compile a program for each shape.
ZEROS = nnx.initializers.zeros


def conv(inputs: int, outputs: int, kernel: tuple[int, ...], **options: Any) -> nnx.Conv:
    """Return a convolution without padding, unless the options of `nnx.Conv` say otherwise."""
    options = {"padding": "VALID", "kernel_init": ZEROS, "rngs": nnx.Rngs(0), **options}
    return nnx.Conv(inputs, outputs, kernel, **options)


def dense(inputs: int, outputs: int, **options: Any) -> nnx.Linear:
    """Return a dense layer with these options of `nnx.Linear`."""
    return nnx.Linear(inputs, outputs, kernel_init=ZEROS, rngs=nnx.Rngs(0), **options)


def batch_norm(features: int, **options: Any) -> nnx.BatchNorm:
    """Batch norm with these options of `nnx.BatchNorm`."""
    # Not E[x^2] - E[x]^2, which loses half of the digits.
    return nnx.BatchNorm(features, use_fast_variance=False, **options, rngs=nnx.Rngs(0))


def flatten(features: jax.Array) -> jax.Array:
    """Return (batch, ...) as (batch, features)."""
    return features.reshape(len(features), -1)


class MaxPool(nnx.Module):
    """The maxima of windows of two along each of the first `dimensions` axes of an example.

    `compares`: whether slices are compared, instead of a window reduction, whose gradient is slow on CPUs.
    Of equal values the first has the gradient in both.
    """

    compares = False

    def __init__(self, dimensions: int) -> None:
        self.window = (2,) * dimensions

    def __call__(self, features: jax.Array) -> jax.Array:
        """Return the maxima, (batch, ..., channels); what is left at the end of an odd side is dropped."""
        if not self.compares:
            return nnx.max_pool(features, self.window, strides=self.window)
        ends = [side // 2 * 2 for side in features.shape[1:-1]]
        starts = product((0, 1), repeat=len(ends))
        largest, *rest = (
            features[:, *(slice(at, end, 2) for at, end in zip(start, ends, strict=True))]
            for start in starts
        )
        for other in rest:
            largest = jnp.where((other > largest) | jnp.isnan(other), other, largest)
        return largest


def average(features: jax.Array) -> jax.Array:
    """Return the means of feature maps, (batch, channels)."""
    return features.mean((1, 2))


def mlp(shape: tuple[int, ...], classes: int, hidden: list[int]) -> nnx.Module:
    """Dense layers of `hidden` outputs, each rectified; one dense layer."""
    widths = [math.prod(shape), *hidden]
    layers: list[Callable[..., Any]] = [flatten]
    for inputs, outputs in pairwise(widths):
        layers += [dense(inputs, outputs), nnx.relu]
    return nnx.Sequential(*layers, dense(widths[-1], classes))


class Squares(nnx.Variable):
    """A variable whose gradient is a sum over the occurrences of each word: see `Embedding`."""


class Embedding(nnx.Module):
    """A table of vectors, (words, features).

    `counts`: whether the gradient of `squares` is how often a word occurs, instead of the sum of g^2.
    """

    counts = False

    def __init__(self, vocabulary: int, features: int) -> None:
        self.embedding = nnx.Param(jnp.zeros((vocabulary, features)))
        self.squares = Squares(jnp.zeros((vocabulary, features)))
        self.dtype = self.embedding.dtype

    def __call__(self, indices: jax.Array) -> jax.Array:
        """Return the vectors of word indices."""
        vectors = jnp.take(self.embedding[...], indices, axis=0).astype(self.dtype)
        return _follow(vectors, self.squares[...], indices, 0 if self.counts else 2)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _follow(vectors: jax.Array, squares: jax.Array, indices: jax.Array, power: int) -> jax.Array:
    """Return the vectors; the gradient of `squares` sums a power of theirs for each word."""
    return vectors


def _forward(vectors: jax.Array, squares: jax.Array, indices: jax.Array, power: int) -> tuple:
    return vectors, (squares, indices)


def _backward(power: int, kept: tuple, gradient: jax.Array) -> tuple:
    squares, indices = kept
    return gradient, jnp.zeros_like(squares).at[indices].add(gradient**power), None


_follow.defvjp(_forward, _backward)


class Frozen(nnx.Variable):
    """A weight that is not trained."""


def freeze(module: nnx.Module) -> None:
    """Let no weight of a module be trained."""
    for _, layer in nnx.iter_modules(module):
        for name, weight in [*vars(layer).items()]:
            if isinstance(weight, nnx.Param):
                setattr(layer, name, Frozen(weight[...]))


class Residual(nnx.Linear):
    """A dense layer without bias whose output is added to its block's input."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, use_bias=False, kernel_init=ZEROS, rngs=nnx.Rngs(0))


_DENSE = {"kernel": "kernel", "bias": "bias"}
_AFFINE = {"gamma": "scale", "beta": "bias"}
_CELL = {"kernel": "dense_i.kernel", "recurrent_kernel": "dense_h.kernel"}
# Class of a layer -> canonical kind; parts and attributes. Of a convolution the kind depends on its shape.
_KINDS: dict[type, tuple[str, dict[str, str]]] = {
    nnx.Conv: ("conv", _DENSE),
    nnx.ConvTranspose: ("conv_transpose", _DENSE),
    nnx.Linear: ("dense", _DENSE),
    Residual: ("residual_dense", {"kernel": "kernel"}),
    nnx.LinearGeneral: ("dense", _DENSE),
    Embedding: ("embedding", {"embeddings": "embedding"}),
    nnx.Embed: ("embedding", {"embeddings": "embedding"}),
    nnx.BatchNorm: ("batch_norm", _AFFINE | {"moving_mean": "mean", "moving_variance": "var"}),
    nnx.LayerNorm: ("layer_norm", _AFFINE),
    nnx.GroupNorm: ("group_norm", _AFFINE),
    nnx.InstanceNorm: ("group_norm", _AFFINE),
    nnx.RMSNorm: ("rms_norm", {"gamma": "scale"}),
    nnx.OptimizedLSTMCell: ("lstm", _CELL | {"bias": "dense_h.bias"}),
    nnx.GRUCell: ("gru", _CELL | {"bias": "dense_i.bias"}),
    nnx.SimpleCell: ("rnn", _CELL | {"bias": "dense_i.bias"}),
    nnx.LSTMCell: ("", {}),  # whose layers of one gate are free parameters, and no dense layers
}


def native_entries(model: nnx.Module) -> Entries:
    """Yield what `canonical_entries` does of any module, with flax's paths and axes.

    What is no `nnx.Param` is not trained: variables of flax's own types are buffers, others are frozen.
    Those of whole numbers, such as counters, are left out.
    """
    for path, variable in nnx.iter_graph(model):
        is_array = isinstance(variable, nnx.Variable) and not isinstance(variable, Squares)
        if is_array and is_floating(variable):
            name, role = ".".join(map(str, path)), ""
            if not is_trained(path, variable):
                role = BUFFER if type(variable).__module__.startswith("flax.") else FROZEN
            yield name + role, variable, Layout(name, tuple(variable.shape))


def is_floating(variable: Any) -> bool:
    """Return whether a variable or an array holds real numbers."""
    return jnp.issubdtype(getattr(variable, "dtype", bool), jnp.floating)


def is_trained(path: Any, variable: Any) -> bool:
    """Return whether the optimizer updates what a module has at a path; it is a filter of nnx."""
    return isinstance(variable, nnx.Param) and is_floating(variable)


def is_random(path: Any, variable: Any) -> bool:
    """Return whether what a module has at a path draws random numbers; it is a filter of nnx."""
    is_key = jnp.issubdtype(getattr(variable, "dtype", bool), jax.dtypes.prng_key)
    return isinstance(variable, nnx.RngState) or (isinstance(variable, nnx.Variable) and is_key)


def canonical_entries(model: nnx.Module, pairs: Mapping[str, str] = {}) -> Entries:
    """Yield canonical name, variable and layout of every weight, in forward order.

    `pairs`: see `weights.canonical_arrays`.
    """
    paths = {id(node): ".".join(map(str, path)) for path, node in nnx.iter_graph(model)}
    nodes = [*weighted(model)]
    places = {id(node): place for place, node in enumerate(nodes)}
    native = sorted(native_entries(model), key=lambda entry: places.get(id(entry[1]), len(places)))
    layers = [_arrays_of(node, paths[id(node)]) for node in nodes if isinstance(node, nnx.Module)]
    return canonical_arrays(layers, native, dict(pairs))


def _arrays_of(layer: Any, path: str) -> Layer:
    """Return a layer's own name, canonical kind and arrays, whose layout is the canonical one but for a few.

    A convolution with a group for each channel is a depthwise one. A transposed one has the kernel of Keras
    if `transpose_kernel`, and one that is flipped if not. Attention heads become one axis.
    """
    kind, parts = _KINDS[type(layer)]
    views: dict[str, View] = {}
    if isinstance(layer, nnx.Conv | nnx.ConvTranspose):
        kind = kind.replace("conv", f"conv{len(layer.kernel_size)}d")
        flipped = (slice(None, None, -1),) * len(layer.kernel_size)
        if getattr(layer, "feature_group_count", 1) == layer.in_features > 1:
            kind, channels = f"depthwise_{kind}", layer.in_features
            views["kernel"] = lambda array: array.reshape(*array.shape[:-2], channels, -1)
        elif not getattr(layer, "transpose_kernel", True):
            views["kernel"] = lambda array: array[flipped].swapaxes(-1, -2)
    if isinstance(layer, nnx.LinearGeneral):
        outputs = math.prod(layer.out_features)
        views = {"kernel": lambda array: array.reshape(-1, outputs), "bias": np.ravel}
    variables = {part: attrgetter(attribute)(layer) for part, attribute in parts.items()}
    return Layer(path, kind, {p: (v, views.get(p, as_it_is)) for p, v in variables.items()})


def trainee(model: Any, name: str, initializer: Initializer) -> nnx.Module:
    """Return what the function of a model returned, in training mode.

    With its own initial values it is a copy, as the function may return the same module again. Raises
    `UserError` if it is no module of nnx, or if its call needs an argument that `call_options` lacks.
    """
    where = f"{plugins.origin(name) or 'models/jax.py'}: model {name}"
    if not isinstance(model, nnx.Module):
        kind = f"{type(model).__module__}.{type(model).__name__}"
        is_linen = any(base.__module__.startswith("flax.linen") for base in type(model).__mro__)
        raise UserError(
            f"{where} is a {'module of flax.linen' if is_linen else kind}; return one of flax.nnx; of linen "
            "it is nnx.bridge.ToNNX(module, rngs=rngs).lazy_init(jnp.zeros((1, *shape)))"
        )
    given = call_options(model, True, jax.random.key(0))
    for key, parameter in [*_parameters(model).items()][2:]:
        has_value = parameter.default is not parameter.empty or "VAR_" in parameter.kind.name
        if key not in given and not has_value:
            raise UserError(
                f"{where} needs the argument `{key}` in each call; engines give the inputs, and of rngs, "
                "train, training, deterministic and use_running_average those which the signature of "
                "`__call__` has: give it a default value"
            )
    if initializer == MODEL:  # others need the order of layers, which a copy has lost
        model = nnx.clone(model)
    model.train()
    for _, variable in nnx.iter_graph(model):
        if isinstance(variable, nnx.Variable) and isinstance(variable.get_value(), int | float):
            variable.set_value(jnp.asarray(variable.get_value()))
    return model


def _parameters(model: nnx.Module) -> dict[str, inspect.Parameter]:
    """Return the parameters of a call, with those of the linen module that it may wrap."""
    calls = type(getattr(model, "to_nnx__module", model)).__call__, type(model).__call__
    return {n: p for call in calls for n, p in inspect.signature(call).parameters.items()}


def call_options(model: nnx.Module, trains: bool, key: jax.Array) -> dict[str, Any]:
    """Return what a module is called with beside the inputs: of all that is usual what its signature has.

    `key`: of random numbers. Evaluation gives none to a module that has a default in their place.
    """
    parameters = _parameters(model)
    given = dict.fromkeys(("train", "training", "is_training"), trains)
    given |= dict.fromkeys(("deterministic", "use_running_average"), not trains)
    options: dict[str, Any] = {name: value for name, value in given.items() if name in parameters}
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    rngs = parameters.get("rngs")
    if (trains and (rngs or takes_all)) or (rngs and rngs.default is rngs.empty):
        options["rngs"] = nnx.Rngs(jax.random.fold_in(key, 1 << 31), dropout=key)
    if trains and hasattr(model, "to_nnx__module"):
        options["mutable"] = ["batch_stats"]
    return options


def dropout_off(model: nnx.Module) -> bool:
    """Switch off what drops values at random in training; return whether something was on.

    That is each rate that an attribute with "drop" in its name holds, as those of attention, and the rate of
    a layer with "Drop" in the name of its class.
    """
    was_on = False
    for _, layer in nnx.iter_modules(model):
        is_dropout = "Drop" in type(layer).__name__
        for name, rate in [*vars(layer).items()]:
            is_rate = "drop" in name.lower() or (is_dropout and name in ("rate", "p", "prob"))
            if is_rate and isinstance(rate, float) and rate:
                was_on = True
                setattr(layer, name, 0.0)
    return was_on


def weighted(node: Any) -> Iterator[Any]:
    """Yield layers of known kinds, and the variables of other modules, in the order of their assignment."""
    if type(node) in _KINDS or isinstance(node, nnx.Variable):
        yield node
    elif isinstance(node, nnx.Module):
        for child in node if isinstance(node, nnx.List) else vars(node).values():
            yield from weighted(child)


# By class of a layer, the attribute that multiplies inputs with a kernel, before the bias is added.
_PRODUCTS: dict[type, str] = {nnx.Conv: "conv_general_dilated", nnx.Linear: "dot_general"}


def compute_in(model: nnx.Module, precision: str) -> None:
    """Make the layers of a model compute in a precision; their variables keep theirs.

    In bfloat16 the gradients of biases are still summed in float32, as TensorFlow and PyTorch do. On a CPU
    XLA would add up the cotangents in bfloat16, with an error of a tenth of a random gradient: before batch
    norm, where the sum should be 0, biases would drift, and running means lag behind them.
    """
    for layer in (layer for _, layer in nnx.iter_modules(model) if "dtype" in vars(layer)):
        layer.dtype = jnp.dtype(precision)
        # Of what a recurrent layer starts with.
        layer.param_dtype = jnp.promote_types(layer.dtype, jnp.float32)
        if precision == "bfloat16" and getattr(layer, "bias", None) is not None:
            for kind, attribute in _PRODUCTS.items():
                if isinstance(layer, kind):
                    _sum_in_float32(layer, attribute)


def _sum_in_float32(layer: Any, attribute: str) -> None:
    """Take the bias's gradient from the product's output, and none where the layer adds the bias."""
    promote, product = layer.promote_dtype, getattr(layer, attribute)
    bias_of_call: list[jax.Array] = []  # between the two calls of one forward pass

    def promoted(arrays: tuple, **options: Any) -> tuple:
        inputs, kernel, bias = arrays
        bias_of_call[:] = [bias]
        return promote((inputs, kernel, jax.lax.stop_gradient(bias)), **options)

    def multiplied(*arrays: Any, **options: Any) -> jax.Array:
        return _with_gradient(product(*arrays, **options), bias_of_call.pop())

    layer.promote_dtype = promoted
    setattr(layer, attribute, multiplied)


@jax.custom_vjp
def _with_gradient(outputs: jax.Array, bias: jax.Array) -> jax.Array:
    """Return the outputs; the backward pass also gives the gradient of a bias that is added to them."""
    return outputs


def _forward_of_sum(outputs: jax.Array, bias: jax.Array) -> tuple[jax.Array, None]:
    return outputs, None


def _backward_of_sum(_: None, cotangents: jax.Array) -> tuple[jax.Array, jax.Array]:
    axes = tuple(range(cotangents.ndim - 1))
    return cotangents, cotangents.sum(axes, dtype=jnp.float32)


_with_gradient.defvjp(_forward_of_sum, _backward_of_sum)


def read_start(path: Path, model: nnx.Module) -> tuple[Weights, list[str]]:
    """Return the arrays of a file as `native_entries` names them, and notices. Raises as `unwrapped` does.

    The collections `params` and `batch_stats` of linen are no part of a name.
    """
    names = [layout.path for _, _, layout in native_entries(model)]
    try:
        if path.suffix == ".safetensors":
            return unwrapped(load_file(path), path, names)
        flat = traverse_util.flatten_dict(serialization.msgpack_restore(path.read_bytes()))
    except UserError:
        raise
    except Exception as error:
        raise damaged(path, error) from None
    keys = {key: key[key[0] in ("params", "batch_stats") :] for key in flat}
    arrays = {".".join(map(str, keys[key])): values for key, values in flat.items()}
    return unwrapped(arrays, path, names)


plugins.SWITCHES |= {
    name: (lambda name=name: jax.config.values[name], partial(jax.config.update, name))
    for name in jax.config.values
}
MODELS: dict[str, Callable[..., nnx.Module]] = plugins.extend("models/jax.py", {"mlp": mlp})
