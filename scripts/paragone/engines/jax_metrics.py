"""Loss and accuracy, summed on JAX's devices and read once."""

import jax
import jax.numpy as jnp
import numpy as np

from paragone.base.engine_reports import Metrics


def sums(logits: jax.Array, losses: jax.Array, labels: jax.Array, weights: jax.Array) -> jax.Array:
    """Loss, correct answers and examples, each example weighted."""
    correct = (logits.argmax(-1) == labels).astype(losses.dtype)
    weights = weights.astype(losses.dtype)
    sums = [(losses * weights).sum(), (correct * weights).sum(), weights.sum()]
    return jnp.stack(sums).astype(jnp.float32)


def means(totals: jax.Array) -> Metrics:
    """The means of what `sums` has added up."""
    # Reading waits for the devices.
    loss, correct, examples = np.asarray(totals.addressable_data(0)).tolist()
    return Metrics(loss / examples, correct / examples)
