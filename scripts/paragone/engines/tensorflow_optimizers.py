"""The optimizers of the workloads in Keras, whose update rules are those that all frameworks follow."""

from collections.abc import Callable
from typing import Any

import numpy as np

from paragone.base import plugins
from paragone.base.tensorflow import keras

Options = dict[str, Any]


def create_optimizer(options: Options, precision: str) -> keras.optimizers.Optimizer:
    """Create the optimizer of a workload's block for weights of a precision."""
    return OPTIMIZERS[options["name"]](options, precision)


def _of_keras(options: Options, precision: str) -> keras.optimizers.Optimizer:
    arguments = {k: v for k, v in options.items() if k not in ("name", "deduplicate")}
    if precision == "float64":
        # Keras rounds a Python float to single precision, whatever the weights are.
        arguments = {name: np.float64(value) for name, value in arguments.items()}
    return keras.optimizers.get({"class_name": options["name"], "config": arguments})


OPTIMIZERS: dict[str, Callable[[Options, str], keras.optimizers.Optimizer]] = plugins.extend(
    "engines/tensorflow_optimizers.py", {"sgd": _of_keras, "adam": _of_keras, "nadam": _of_keras}
)
