"""The optimizers of the workloads in Keras, and the rules that Keras does not have."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from paragone.base import plugins
from paragone.base.tensorflow import keras, tf
from paragone.config.run_spec import Workload
from paragone.models.keras_weights import named
from paragone.models.weights import decayed, trainable

Options = dict[str, Any]
# Keys that Keras' optimizers lack, or read otherwise.
_OWN = ("name", "rule", "deduplicate", "dampening", "initial", "decoupled", "decays")
_CHANGES = ("clip_norm", "clip_value", "weight_decay")


def create_optimizer(
    workload: Workload, precision: str, model: keras.Model
) -> keras.optimizers.Optimizer:
    """Create the optimizer of a workload, for a model whose weights have a precision."""
    options = workload.optimizer
    name = options["name"]
    if name == "sgd" and (options.get("dampening") or not workload.learning_rate.constant):
        optimizer = _of_keras(options, precision, Sgd)
    else:
        optimizer = OPTIMIZERS[name](options, precision)
    if options.get("decays", "all") != "all":
        optimizer.exclude_from_weight_decay(
            [
                variable
                for name, variable, shape in named(model)
                if trainable(name) and not decayed(name, len(shape), options)
            ]
        )
    return optimizer


class Changed:
    """Clips gradients and adds the coupled weight decay, once they are summed over replicas.

    Keras clips those of each replica, and decouples weight decay.
    """

    options: Options
    decay: Any  # coupled

    def _all_reduce_sum_gradients(self, pairs: Iterable[tuple]) -> list[tuple]:
        reduced: Any = super()._all_reduce_sum_gradients(pairs)  # type: ignore[misc]  # of Keras
        gradients = [tf.convert_to_tensor(gradient) for gradient, _ in reduced]
        if limit := self.options.get("clip_value"):
            gradients = [tf.clip_by_value(gradient, -limit, limit) for gradient in gradients]
        if limit := self.options.get("clip_norm"):
            gradients, _ = tf.clip_by_global_norm(gradients, limit)
        return [
            (gradient + self.decay * variable if self._decays(variable) else gradient, variable)
            for gradient, (_, variable) in zip(gradients, reduced, strict=True)
        ]

    def _decays(self, variable: tf.Variable) -> bool:
        return bool(self.decay) and self._use_weight_decay(variable)  # type: ignore[attr-defined]


class Sgd(keras.optimizers.SGD):
    """The velocity sums gradients, and the learning rate multiplies it, as in PyTorch and optax.

    In Keras the velocity sums gradients times their rates: another rule where the rate changes.
    """

    options: Options  # and in Adam: set by `_of_keras`

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """Update a weight."""
        move = tf.convert_to_tensor(gradient)
        if self.momentum:
            velocity = self.momentums[self._get_variable_index(variable)]
            momentum = tf.cast(self.momentum, variable.dtype)
            added = move
            if dampening := self.options.get("dampening"):
                added = tf.where(self.iterations == 0, move, (1 - dampening) * move)
            self.assign(velocity, momentum * velocity + added)
            move = move + momentum * velocity if self.nesterov else velocity
        self.assign_sub(variable, tf.cast(learning_rate, variable.dtype) * move)


class Adam(keras.optimizers.Adam):
    """Adam of PyTorch, with epsilon added after the bias correction."""

    options: Options

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """Update a weight by Keras' rule, whose epsilon is added before the correction."""
        taken = tf.cast(self.iterations + 1, variable.dtype)
        correction = tf.sqrt(1 - tf.cast(self.beta_2, variable.dtype) ** taken)
        self.epsilon = self.options["epsilon"] * correction
        super().update_step(gradient, variable, learning_rate)


class RMSprop(keras.optimizers.RMSprop):
    """RMSprop of PyTorch, with epsilon outside the root, and the rate outside the momentum."""

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """Update a weight."""
        g, place = tf.convert_to_tensor(gradient), self._get_variable_index(variable)
        rho, mean = tf.cast(self.rho, variable.dtype), self._velocities[place]
        self.assign(mean, rho * mean + (1 - rho) * tf.square(g))
        square = tf.convert_to_tensor(mean)
        if self.centered:
            first = self._average_gradients[place]
            self.assign(first, rho * first + (1 - rho) * g)
            square -= tf.square(first)
        move = g / (tf.sqrt(square) + self.epsilon)
        if self.momentum:
            velocity = self._momentums[place]
            self.assign(velocity, tf.cast(self.momentum, variable.dtype) * velocity + move)
            move = tf.convert_to_tensor(velocity)
        self.assign_sub(variable, tf.cast(learning_rate, variable.dtype) * move)


class Adagrad(keras.optimizers.Adagrad):
    """Adagrad of PyTorch, with epsilon outside the root."""

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """Update a weight."""
        g = tf.convert_to_tensor(gradient)
        sums = self._accumulators[self._get_variable_index(variable)]
        self.assign_add(sums, tf.square(g))
        move = g / (tf.sqrt(tf.convert_to_tensor(sums)) + self.epsilon)
        self.assign_sub(variable, tf.cast(learning_rate, variable.dtype) * move)


_KERAS = {
    "sgd": keras.optimizers.SGD,
    "adam": keras.optimizers.Adam,
    "adamw": keras.optimizers.Adam,
    "nadam": keras.optimizers.Nadam,
    "rmsprop": keras.optimizers.RMSprop,
    "adagrad": keras.optimizers.Adagrad,
}
_PYTORCH = {"adam": Adam, "adamw": Adam, "rmsprop": RMSprop, "adagrad": Adagrad}


def _of_keras(options: Options, precision: str, kind: Any = None) -> keras.optimizers.Optimizer:
    name = options["name"]
    kind = kind or (_PYTORCH if options.get("rule") == "pytorch" else _KERAS)[name]
    arguments = {k: v for k, v in options.items() if k not in (*_OWN, *_CHANGES)}
    if name == "adagrad":
        arguments["initial_accumulator_value"] = options["initial"]
    decay = options.get("weight_decay")
    if precision == "float64":
        # Keras rounds a Python float to single precision, whatever the weights are.
        arguments = {
            key: np.float64(value) if isinstance(value, float) else value
            for key, value in arguments.items()
        }
        decay = decay and np.float64(decay)
    if name == "adamw" or options.get("decoupled"):
        arguments["weight_decay"], decay = decay, None
    own: Options = {"options": options, "decay": decay}
    changed = any(key in options for key in _CHANGES)
    if kind in _KERAS.values() and not changed:
        return kind(**arguments)
    bases = (Changed, kind) if changed else (kind,)
    return type(kind.__name__, bases, own)(**arguments)


OPTIMIZERS: dict[str, Callable[[Options, str], keras.optimizers.Optimizer]] = plugins.extend(
    "engines/tensorflow_optimizers.py",
    {
        "sgd": _of_keras,
        "adam": _of_keras,
        "adamw": _of_keras,
        "nadam": _of_keras,
        "rmsprop": _of_keras,
        "adagrad": _of_keras,
    },
)
