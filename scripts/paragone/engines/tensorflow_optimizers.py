"""The optimizers of the workloads in Keras, whose update rules are those that all frameworks follow."""

from collections.abc import Callable
from typing import Any

import numpy as np

from paragone.base import plugins
from paragone.base.tensorflow import keras, tf
from paragone.config.run_spec import Workload

Options = dict[str, Any]


def create_optimizer(workload: Workload, precision: str) -> keras.optimizers.Optimizer:
    """Create the optimizer of a workload for weights of a precision."""
    optimizer = OPTIMIZERS[workload.optimizer_name](workload.optimizer, precision)
    if type(optimizer) is keras.optimizers.SGD and not workload.learning_rate.constant:
        return Sgd(momentum=optimizer.momentum, nesterov=optimizer.nesterov)
    return optimizer


class Sgd(keras.optimizers.SGD):
    """The velocity sums gradients, and the learning rate multiplies it, as in PyTorch and optax.

    In Keras the velocity sums gradients times their rates: another rule where the rate changes.
    """

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """Update a weight."""
        move = tf.convert_to_tensor(gradient)
        if self.momentum:
            velocity = self.momentums[self._get_variable_index(variable)]
            momentum = tf.cast(self.momentum, variable.dtype)
            self.assign(velocity, momentum * velocity + move)
            move = move + momentum * velocity if self.nesterov else velocity
        self.assign_sub(variable, tf.cast(learning_rate, variable.dtype) * move)


def _of_keras(options: Options, precision: str) -> keras.optimizers.Optimizer:
    arguments = {k: v for k, v in options.items() if k not in ("name", "deduplicate")}
    if precision == "float64":
        # Keras rounds a Python float to single precision, whatever the weights are.
        arguments = {name: np.float64(value) for name, value in arguments.items()}
    return keras.optimizers.get({"class_name": options["name"], "config": arguments})


OPTIMIZERS: dict[str, Callable[[Options, str], keras.optimizers.Optimizer]] = plugins.extend(
    "engines/tensorflow_optimizers.py", {"sgd": _of_keras, "adam": _of_keras, "nadam": _of_keras}
)
