"""The optimizers of the workloads in optax, with the update rules of Keras."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from paragone.config.run_spec import Spec
from paragone.engines import framework_optimizer

Options = dict[str, Any]


def create_optimizer(
    spec: Spec, mask: Any = None
) -> tuple[optax.GradientTransformationExtraArgs, str]:
    """Create the workload's optimizer; also return the call of one of optax' own.

    Its updates are to be multiplied by minus the learning rate; those of optax' own are to be added. `mask`:
    a tree of which arrays decay. `update` takes the gradients, the weights and, as keywords, the `rate` and
    `of_words`, what `Jax` sums over the occurrences of each word of an embedding.
    """
    if spec.workload.optimizer_framework:
        return _of_optax(spec)
    options = spec.workload.optimizer
    parts = [_OPTIMIZERS[options["name"]](options)]
    if decay := options.get("weight_decay"):
        place = 1 if options["name"] == "adamw" else 0  # decoupled after, coupled before the rule
        parts.insert(place, optax.add_decayed_weights(decay, mask))
    if limit := options.get("clip_norm"):
        parts.insert(0, optax.clip_by_global_norm(limit))
    optimizer = optax.chain(*parts) if parts[1:] else parts[0]
    if several := options.get("accumulate"):
        precision = jnp.result_type(float)  # of the weights
        optimizer = optax.MultiSteps(optimizer, several, accumulator_dtype=precision)
        optimizer = optimizer.gradient_transformation()
    return optax.with_extra_args_support(optimizer), ""


def _of_optax(spec: Spec) -> tuple[optax.GradientTransformationExtraArgs, str]:
    """Return optax' own optimizer, which is given the rate of each step: it may not only multiply by it."""

    def with_rate(kind: Any) -> Any:
        constants = inspect.signature(kind).parameters.keys() - {"learning_rate"}
        return optax.inject_hyperparams(kind, static_args=constants)

    def update(gradients: Any, state: Any, params: Any = None, *, rate: Any, **_: Any) -> tuple:
        state = state._replace(hyperparams={"learning_rate": rate})
        return inner.update(gradients, state, params)

    inner, call = framework_optimizer(spec, wrap=with_rate)
    return optax.GradientTransformationExtraArgs(inner.init, update), call


def _adam(options: Options) -> optax.GradientTransformation:
    """Return Adam of PyTorch, or with the "epsilon hat" of Kingma & Ba (arXiv:1412.6980, end of section 2).

    optax adds epsilon after the bias correction, which is the same with epsilon / sqrt(1 - beta_2^t).
    """
    if options.get("rule") == "pytorch":
        return optax.scale_by_adam(options["beta_1"], options["beta_2"], options["epsilon"])

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
    """Return Nadam's momentum of a step, counted from 1: beta_1 (1 - 0.96^t / 2); `step` may be slowed."""
    return beta_1 * (1 - 0.5 * 0.96**step)


def _nadam(options: Options) -> optax.GradientTransformationExtraArgs:
    """Nadam of Dozat (ICLR workshop, 2016) with his momentum schedule, which optax does not have."""
    beta_1, beta_2 = options["beta_1"], options["beta_2"]
    rule = options.get("rule", "keras")
    pace = 1 if rule == "keras" else 0.004

    def start(params: optax.Params) -> _NadamState:
        first, second = (jax.tree.map(jnp.zeros_like, params) for _ in range(2))
        return _NadamState(jnp.zeros((), jnp.int32), jnp.ones(()), first, second)

    def update(
        gradients: Any, state: _NadamState, params: Any = None, *, of_words: Any, **_: Any
    ) -> tuple:
        step = state.taken + 1
        now, ahead = momentum(beta_1, pace * step), momentum(beta_1, pace * (step + 1))
        product = state.product * now
        squares = of_words
        if options.get("deduplicate", True):
            # Of gradients that may be clipped or have a decay in them.
            squares = jax.tree.map(jnp.square, gradients)
        first = optax.tree.update_moment(gradients, state.first, beta_1, 1)
        second = optax.tree.update_moment(squares, state.second, beta_2, 1)
        correction = 1 - beta_2**step

        def direction(g: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
            mean = ahead * m / (1 - product * ahead) + (1 - now) * g / (1 - product)
            return mean / (jnp.sqrt(v / correction) + options["epsilon"])

        updates = jax.tree.map(direction, gradients, first, second)
        if rule == "keras-2":  # a word that the batch lacks stays, while its moments decay
            updates = jax.tree.map(lambda by, n: jnp.where(n > 0, by, 0), updates, of_words)
        return updates, _NadamState(step, product, first, second)

    return optax.GradientTransformationExtraArgs(start, update)


def _rmsprop(options: Options) -> optax.GradientTransformation:
    under_root = options.get("rule") == "keras"
    scaled = optax.scale_by_rms(options["rho"], options["epsilon"], eps_in_sqrt=under_root)
    if momentum := options.get("momentum"):
        return optax.chain(scaled, optax.trace(momentum))
    return scaled


_OPTIMIZERS: dict[str, Callable[[Options], optax.GradientTransformation]] = {
    "sgd": lambda options: optax.trace(options["momentum"], options.get("nesterov", False)),
    "adam": _adam,
    "adamw": _adam,
    "nadam": _nadam,
    "rmsprop": _rmsprop,
    "adagrad": lambda options: optax.scale_by_rss(options["initial"], options["epsilon"]),
}
