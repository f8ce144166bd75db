"""Weights that Keras publishes, from its own file to the canonical layout."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from pathlib import Path

import keras

from paragone.base.array_types import Weights
from paragone.base.errors import UserError
from paragone.models.keras_weights import named

# With all their defaults: those are what the published weights belong to.
ARCHITECTURES = {"mobilenet-v2": keras.applications.MobileNetV2}


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
