"""The optimizers of the workloads in optax, with the update rules of Keras."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from paragone.base import plugins

Options = dict[str, Any]


def create_optimizer(options: Options) -> optax.GradientTransformationExtraArgs:
    """Create the workload's optimizer. Its updates are to be multiplied by minus the learning rate.

    `update` takes the gradients and, as the keyword `squares`, the arrays that the second moment averages.
    """
    return optax.with_extra_args_support(OPTIMIZERS[options["name"]](options))


def _sgd(options: Options) -> optax.GradientTransformation:
    return optax.trace(decay=options["momentum"])


def _adam(options: Options) -> optax.GradientTransformation:
    """Adam with the "epsilon hat" of Kingma & Ba (arXiv:1412.6980, end of section 2).

    optax adds epsilon after the bias correction, which is the same with epsilon / sqrt(1 - beta_2^t).
    """

    def epsilon(taken: jax.Array) -> jax.Array:
        return options["epsilon"] / jnp.sqrt(1 - options["beta_2"] ** (taken + 1))

    adam = optax.inject_hyperparams(optax.scale_by_adam, static_args=("b1", "b2"))
    return adam(b1=options["beta_1"], b2=options["beta_2"], eps=epsilon)


class _NadamState(NamedTuple):
    taken: jax.Array
    product: jax.Array  # of all momenta so far
    first: optax.Updates
    second: optax.Updates


def momentum(beta_1: float, step: jax.Array) -> jax.Array:
    """Nadam's momentum of a step, counted from 1: beta_1 (1 - 0.96^t / 2)."""
    return beta_1 * (1 - 0.5 * 0.96**step)


def _nadam(options: Options) -> optax.GradientTransformationExtraArgs:
    """Nadam of Dozat (ICLR workshop, 2016) with his momentum schedule, which optax does not have."""
    beta_1, beta_2 = options["beta_1"], options["beta_2"]

    def start(params: optax.Params) -> _NadamState:
        first, second = (jax.tree.map(jnp.zeros_like, params) for _ in range(2))
        return _NadamState(jnp.zeros((), jnp.int32), jnp.ones(()), first, second)

    def update(
        gradients: optax.Updates,
        state: _NadamState,
        params: optax.Params | None = None,
        *,
        squares: optax.Updates,
    ) -> tuple[optax.Updates, _NadamState]:
        step = state.taken + 1
        now, ahead = momentum(beta_1, step), momentum(beta_1, step + 1)
        product = state.product * now
        first = optax.tree.update_moment(gradients, state.first, beta_1, 1)
        second = optax.tree.update_moment(squares, state.second, beta_2, 1)
        correction = 1 - beta_2**step

        def direction(g: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
            mean = ahead * m / (1 - product * ahead) + (1 - now) * g / (1 - product)
            return mean / (jnp.sqrt(v / correction) + options["epsilon"])

        updates = jax.tree.map(direction, gradients, first, second)
        return updates, _NadamState(step, product, first, second)

    return optax.GradientTransformationExtraArgs(start, update)


OPTIMIZERS: dict[str, Callable[[Options], optax.GradientTransformation]] = plugins.extend(
    "engines/jax_optimizers.py", {"sgd": _sgd, "adam": _adam, "nadam": _nadam}
)
