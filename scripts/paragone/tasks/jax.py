"""Losses and scores of tasks in JAX and optax. Shapes are those of `reference`; see there."""

import jax
import jax.numpy as jnp
import optax

from paragone.tasks import Task, check_outputs


def losses(task: Task, outputs: jax.Array, labels: jax.Array) -> jax.Array:
    """The loss of each example, (batch,). Raises as `check_outputs` does."""
    check_outputs(task, outputs.shape[1:], labels.shape[1:])
    if task.numeric:
        return _means((outputs - labels.astype(outputs.dtype)) ** 2)
    return _means(optax.softmax_cross_entropy_with_integer_labels(outputs, labels))


def scores(task: Task, outputs: jax.Array, labels: jax.Array) -> jax.Array:
    """The score of each example, (batch,), of the outputs' dtype."""
    if task.numeric:
        return _means(jnp.abs(outputs - labels.astype(outputs.dtype)))
    return _means((outputs.argmax(-1) == labels).astype(outputs.dtype))


def _means(values: jax.Array) -> jax.Array:
    """The mean of each example's values."""
    return values if values.ndim == 1 else values.reshape(len(values), -1).mean(1)
