"""Losses and scores of tasks in JAX and optax. Shapes and divisors are those of `reference`; see there."""

import jax
import jax.numpy as jnp
import optax

from paragone.tasks import TOP, Task, check_outputs


def losses(task: Task, outputs: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the loss of each example, (batch,). Raises as `check_outputs` does."""
    check_outputs(task, outputs.shape[1:], labels.shape[1:])
    if task.numeric:
        return _means((outputs - labels.astype(outputs.dtype)) ** 2)
    if task.multi_label:
        return _means(optax.sigmoid_binary_cross_entropy(outputs, labels))
    if task.plain:
        return _means(optax.softmax_cross_entropy_with_integer_labels(outputs, labels))
    one_hot = jax.nn.one_hot(labels, outputs.shape[-1], dtype=outputs.dtype)
    targets = optax.smooth_labels(one_hot, task.label_smoothing)
    if task.class_weights:
        by_class = jnp.asarray(task.class_weights, outputs.dtype)
        targets *= by_class if task.rule == "pytorch" else by_class[labels][..., None]
    return _means(optax.softmax_cross_entropy(outputs, targets) * (labels >= 0))


def weights(task: Task, outputs: jax.Array, labels: jax.Array) -> jax.Array:
    """Return what each example counts in the divisor of the loss, (batch,)."""
    if not task.weighs:
        return jnp.ones(len(labels), outputs.dtype)
    values = (labels >= 0).astype(outputs.dtype)
    if task.rule == "pytorch":
        values *= jnp.asarray(task.class_weights, outputs.dtype)[labels]
    return _means(values)


def scores(task: Task, outputs: jax.Array, labels: jax.Array) -> list[jax.Array]:
    """Return `task.scores` of each example, each (batch,), of the outputs' dtype."""
    if task.numeric:
        return [_means(jnp.abs(outputs - labels.astype(outputs.dtype)))]
    if task.multi_label:
        return [2 * _means(((outputs > 0) * labels).astype(outputs.dtype))]
    right = [outputs.argmax(-1) == labels]
    if task.top5:
        places, classes = jnp.maximum(labels, 0)[..., None], outputs.shape[-1]
        score, after = jnp.take_along_axis(outputs, places, -1), jnp.arange(classes) >= places
        behind = (outputs < score) | ((outputs == score) & after)
        right.append((behind.sum(-1) > classes - TOP) & (labels >= 0))
    return [_means(values.astype(outputs.dtype)) for values in right]


def counts(task: Task, outputs: jax.Array, labels: jax.Array) -> jax.Array:
    """Return what each example counts in the divisor of the score, (batch,)."""
    if task.multi_label:
        return _means(((outputs > 0) + labels).astype(outputs.dtype))
    if task.ignored:
        return _means((labels >= 0).astype(outputs.dtype))
    return jnp.ones(len(labels), outputs.dtype)


def _means(values: jax.Array) -> jax.Array:
    return values if values.ndim == 1 else values.reshape(len(values), -1).mean(1)
