"""The optimizers of the workloads in Keras."""

from typing import Any

import keras
import numpy as np


def create_optimizer(options: dict[str, Any], precision: str) -> keras.optimizers.Optimizer:
    """The optimizer of a workload's block, for weights of this precision."""
    arguments = {k: v for k, v in options.items() if k not in ("name", "deduplicate")}
    if precision == "float64":
        # Keras rounds a Python float to single precision, whatever the weights are.
        arguments = {name: np.float64(value) for name, value in arguments.items()}
    return keras.optimizers.get({"class_name": options["name"], "config": arguments})
