"""The optimizers of the workloads in Keras, and the rules that Keras does not have."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from paragone.base.tensorflow import keras, tf
from paragone.config.run_spec import Spec
from paragone.engines import framework_optimizer
from paragone.models.weights import Entries, decayed, trainable

Options = dict[str, Any]
# Keys that Keras' optimizers lack, or read otherwise.
_UNKNOWN = ("name", "rule", "deduplicate", "initial", "decays", "accumulate")
_CHANGES = ("clip_norm", "weight_decay")


def create_optimizer(spec: Spec, entries: Entries) -> tuple[keras.optimizers.Optimizer, str]:
    """Create the workload's optimizer for a model with these entries; also return the call of Keras' own."""
    options = spec.workload.optimizer
    name = options["name"]
    if spec.workload.optimizer_framework:
        return framework_optimizer(spec)
    changes = name == "sgd" and not spec.workload.learning_rate.constant
    optimizer = _of_keras(options, spec.precision, TorchSgd if changes else None)
    if options.get("decays", "all") != "all":
        optimizer.exclude_from_weight_decay(
            [
                variable
                for name, variable, layout in entries
                if trainable(name) and not decayed(len(layout.shape), options)
            ]
        )
    return optimizer, ""


class Accumulation:
    """The sums of the gradients of a batch and of those before it, until there are several of them.

    Keras' own cannot be used under a strategy of several replicas: it reduces gradients in a branch.
    """

    def __init__(self, weights: list[keras.Variable], several: int) -> None:
        self._several = several
        first = tf.VariableAggregation.ONLY_FIRST_REPLICA  # all have the same
        self._sums = [
            tf.Variable(tf.zeros(weight.shape, weight.dtype), trainable=False, aggregation=first)
            for weight in weights
        ]
        self._batches = tf.Variable(0, trainable=False, aggregation=first)
        self.variables = [*self._sums, self._batches]  # the state
        # Places of weights on which outputs depend, once it is traced.
        self._learning: list[int] = []

    def add(self, gradients: list[tf.Tensor | None]) -> None:
        """Add the gradients of a batch; every replica calls this with its part of them."""
        replicas = tf.distribute.get_replica_context()
        self._learning = [place for place, g in enumerate(gradients) if g is not None]
        reduced = replicas.all_reduce(
            tf.distribute.ReduceOp.SUM, [gradients[place] for place in self._learning]
        )
        for place, gradient in zip(self._learning, reduced, strict=True):
            self._sums[place].assign_add(gradient)

    def complete(self) -> tf.Tensor:
        """Count a batch; return whether it is the last one before an update."""
        self._batches.assign((self._batches + 1) % self._several)
        return tf.equal(self._batches, 0)

    def take_means(self) -> list[tf.Tensor | None]:
        """Begin anew; return each replica's part of the mean gradient, which the optimizer sums."""
        replicas = tf.distribute.get_replica_context().num_replicas_in_sync
        means = [
            total / (self._several * replicas) if place in self._learning else None
            for place, total in enumerate(self._sums)
        ]
        for total in self._sums:
            total.assign(tf.zeros_like(total))
        return means


class ClipAndDecay:
    """Clips gradients and adds the coupled weight decay, once they are summed over replicas.

    Keras clips those of each replica, and decouples weight decay.
    """

    options: Options
    decay: Any  # coupled

    def _all_reduce_sum_gradients(self, pairs: Iterable[tuple]) -> list[tuple]:
        reduced: Any = super()._all_reduce_sum_gradients(pairs)  # type: ignore[misc]  # of Keras
        gradients = [tf.convert_to_tensor(gradient) for gradient, _ in reduced]
        if limit := self.options.get("clip_norm"):
            gradients, _ = tf.clip_by_global_norm(gradients, limit)
        return [
            (gradient + self.decay * variable if self._decays(variable) else gradient, variable)
            for gradient, (_, variable) in zip(gradients, reduced, strict=True)
        ]

    def _decays(self, variable: tf.Variable) -> bool:
        return bool(self.decay) and self._use_weight_decay(variable)  # type: ignore[attr-defined]


class TorchSgd(keras.optimizers.SGD):
    """The velocity sums gradients, and the learning rate multiplies it, as in PyTorch and optax.

    In Keras the velocity sums gradients times their rates: another rule where the rate changes.
    """

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        move = tf.convert_to_tensor(gradient)
        if self.momentum:
            velocity = self.momentums[self._get_variable_index(variable)]
            momentum = tf.cast(self.momentum, variable.dtype)
            self.assign(velocity, momentum * velocity + move)
            move = move + momentum * velocity if self.nesterov else velocity
        self.assign_sub(variable, tf.cast(learning_rate, variable.dtype) * move)


class TorchAdam(keras.optimizers.Adam):
    """Adam of PyTorch, with epsilon added after the bias correction."""

    options: Options  # set by `_of_keras`

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """Update a weight by Keras' rule, whose epsilon is added before the correction."""
        taken = tf.cast(self.iterations + 1, variable.dtype)
        correction = tf.sqrt(1 - tf.cast(self.beta_2, variable.dtype) ** taken)
        self.epsilon = self.options["epsilon"] * correction
        super().update_step(gradient, variable, learning_rate)


class TorchRmsprop(keras.optimizers.RMSprop):
    """RMSprop of PyTorch, with epsilon outside the root, and the rate outside the momentum."""

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        g, place = tf.convert_to_tensor(gradient), self._get_variable_index(variable)
        rho, mean = tf.cast(self.rho, variable.dtype), self._velocities[place]
        self.assign(mean, rho * mean + (1 - rho) * tf.square(g))
        move = g / (tf.sqrt(tf.convert_to_tensor(mean)) + self.epsilon)
        if self.momentum:
            velocity = self._momentums[place]
            self.assign(velocity, tf.cast(self.momentum, variable.dtype) * velocity + move)
            move = tf.convert_to_tensor(velocity)
        self.assign_sub(variable, tf.cast(learning_rate, variable.dtype) * move)


class TorchNadam(keras.optimizers.Nadam):
    """Nadam of PyTorch and of Keras 2, with a slower momentum schedule.

    In Keras 2 a step updates only those rows of an embedding whose words are in the batch; all moments decay,
    and the gradients of a repeated word are summed.
    """

    options: Options

    def _backend_update_step(
        self, grads: list, trainable_variables: list, learning_rate: tf.Tensor
    ) -> None:
        self.assign(self._u_product, self._u_product * self._scheduled(1, self._u_product.dtype))
        # Not Keras' own method, which would multiply by a momentum of its schedule.
        super(keras.optimizers.Nadam, self)._backend_update_step(
            grads, trainable_variables, learning_rate
        )

    def _scheduled(self, ahead: int, dtype: tf.DType) -> tf.Tensor:
        """Return the momentum of the step that is `ahead` of those taken."""
        step = tf.cast(self.iterations + ahead, dtype)
        share = tf.constant(0.96, dtype) ** (tf.constant(0.004, dtype) * step)
        return tf.cast(self.beta_1, dtype) * (1 - share / 2)

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        dtype, place = variable.dtype, self._get_variable_index(variable)
        g, beta_1, beta_2 = tf.convert_to_tensor(gradient), self.beta_1, self.beta_2
        first, second = self._momentums[place], self._velocities[place]
        self.assign(first, tf.cast(beta_1, dtype) * first + tf.cast(1 - beta_1, dtype) * g)
        self.assign(
            second, tf.cast(beta_2, dtype) * second + tf.cast(1 - beta_2, dtype) * tf.square(g)
        )
        now, ahead = self._scheduled(1, dtype), self._scheduled(2, dtype)
        product = tf.cast(self._u_product, dtype)
        mean = ahead * first / (1 - product * ahead) + (1 - now) * g / (1 - product)
        taken = tf.cast(self.iterations + 1, dtype)
        square = second / (1 - tf.cast(beta_2, dtype) ** taken)
        move = mean / (tf.sqrt(square) + tf.cast(self.epsilon, dtype))
        if self.options["rule"] == "keras-2" and isinstance(gradient, tf.IndexedSlices):
            ones = tf.ones_like(gradient.indices, dtype)
            counts = tf.math.unsorted_segment_sum(ones, gradient.indices, variable.shape[0])
            move = tf.where(counts[:, None] > 0, move, tf.zeros_like(move))
        self.assign_sub(variable, tf.cast(learning_rate, dtype) * move)


_KERAS = {
    "sgd": keras.optimizers.SGD,
    "adam": keras.optimizers.Adam,
    "adamw": keras.optimizers.Adam,
    "nadam": keras.optimizers.Nadam,
    "rmsprop": keras.optimizers.RMSprop,
    "adagrad": keras.optimizers.Adagrad,
}
# By rule, what Keras does not have.
_RULES: dict[str, dict[str, Any]] = {
    "pytorch": dict.fromkeys(["adam", "adamw"], TorchAdam)
    | {"nadam": TorchNadam, "rmsprop": TorchRmsprop},
    "keras-2": {"nadam": TorchNadam},
}


def _of_keras(options: Options, precision: str, kind: Any = None) -> keras.optimizers.Optimizer:
    name = options["name"]
    rule = options.get("rule", "pytorch" if name == "rmsprop" else "keras")
    kind = kind or _RULES.get(rule, {}).get(name, _KERAS[name])
    arguments = {k: v for k, v in options.items() if k not in (*_UNKNOWN, *_CHANGES)}
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
    if name == "adamw":
        arguments["weight_decay"], decay = decay, None
    changed = any(key in options for key in _CHANGES)
    if kind in _KERAS.values() and not changed:
        return kind(**arguments)
    bases = (ClipAndDecay, kind) if changed else (kind,)
    return type(kind.__name__, bases, {"options": options, "decay": decay})(**arguments)
