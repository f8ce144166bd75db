"""Canonical names of a Keras model's weights, and weights that Keras publishes; without an engine."""

from collections.abc import Iterator
from pathlib import Path

import keras

from paragone.base.errors import UserError
from paragone.models.canonical_weights import Weights

# With all their defaults: those are what the published weights belong to.
ARCHITECTURES = {"mobilenet-v2": keras.applications.MobileNetV2}

# Keras layer class -> canonical kind and parts, in Keras' own order of variables
_KINDS = {
    "Conv1D": ("conv1d", ("kernel", "bias")),
    "Conv2D": ("conv2d", ("kernel", "bias")),
    "DepthwiseConv2D": ("depthwise_conv2d", ("kernel", "bias")),
    "Embedding": ("embedding", ("embeddings",)),
    "Dense": ("dense", ("kernel", "bias")),
    "BatchNormalization": ("batch_norm", ("gamma", "beta", "moving_mean", "moving_variance")),
}


def named(model: keras.Model) -> Iterator[tuple[str, keras.Variable]]:
    """Canonical name and variable of every weight, in forward order. Keras' layout is canonical."""
    weighted = [layer for layer in model.layers if type(layer).__name__ in _KINDS]
    for index, layer in enumerate(weighted):
        kind, parts = _KINDS[type(layer).__name__]
        by_part = {variable.name: variable for variable in layer.variables}
        for part in parts:
            if part in by_part:
                yield f"{index}.{kind}.{part}", by_part[part]


def read(model: str, file: Path) -> Weights:
    """Canonical weights of `model` in the HDF5 file `file`, loaded by Keras itself.

    Raises UserError when the file is not of this model.
    """
    try:
        loaded = ARCHITECTURES[model](weights=str(file))
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{file} holds no weights of {model} that Keras can load ({reason}): correct the file "
            f"and its checksum under data.pretrained.{model} in the config"
        ) from None
    return {name: variable.numpy() for name, variable in named(loaded)}
