"""Bugs of the engine `jax`; see wrong_engines.py."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
from flax import nnx
from parity.wrong_engines import Bugs, Plant, wrapped

from paragone.config.run_spec import Spec
from paragone.engines import jax as engines
from paragone.engines import jax_optimizers
from paragone.models import jax as models


def epsilon_of_optax(patch: pytest.MonkeyPatch, engine: type) -> None:
    def create(spec: Spec, _: object) -> tuple[optax.GradientTransformationExtraArgs, str]:
        constants = (spec.workload.optimizer[name] for name in ("beta_1", "beta_2", "epsilon"))
        return optax.with_extra_args_support(optax.scale_by_adam(*constants)), ""

    patch.setattr(engines, "create_optimizer", create)


def sum_of_gradients(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setattr(optax, "MultiSteps", partial(optax.MultiSteps, use_grad_mean=False))


def constant_momentum(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setattr(jax_optimizers, "momentum", lambda beta_1, step: beta_1 + 0.0 * step)


def sum_for_mean(right: Callable, engine: Any, *arguments: Any) -> tuple:
    _, (logits, losses, statistics) = right(engine, *arguments)
    return losses.sum(), (logits, losses, statistics)


def statistics_stay(right: Callable, engine: Any, state: dict, *rest: Any) -> tuple:
    new, totals = right(engine, state, *rest)
    return new | {"statistics": state["statistics"]}, totals


def squares_of_the_last_occurrence(patch: pytest.MonkeyPatch, engine: type) -> None:
    def backward(power: int, kept: tuple, gradient: jax.Array) -> tuple:
        squares, words = kept
        return gradient, jnp.zeros_like(squares).at[words].set(gradient**power), None

    follow = jax.custom_vjp(lambda vectors, *_: vectors, nondiff_argnums=(3,))
    follow.defvjp(models._forward, backward)
    patch.setattr(models, "_follow", follow)


def batch_norm_trains_in_evaluation(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setitem(engines.EVALUATING, "use_running_average", False)


def accuracy_of_other_examples(patch: pytest.MonkeyPatch, engine: type) -> None:
    right = engines.tasks.scores
    patch.setattr(
        engines.tasks,
        "scores",
        lambda task, outputs, targets: right(task, outputs, jnp.roll(targets, 1, axis=0)),
    )


def batch_norm(option: str, value: float) -> Plant:
    return lambda patch, engine: patch.setitem(models.TORCH_BATCH_NORM, option, value)


def mean_pooling(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setattr(
        models.MaxPool,
        "__call__",
        lambda pool, features: nnx.avg_pool(features, pool.window, strides=pool.window),
    )


WRONG: Bugs = {
    ("fashion-cnn", "logits"): {"epsilon-of-batch-norm": batch_norm("epsilon", 1e-3)},
    ("fashion-cnn", "loss"): {"sum-for-mean": wrapped("_loss", sum_for_mean)},
    ("fashion-cnn", "statistics"): {
        "statistics-stay": wrapped("_train", statistics_stay),
        "momentum-of-batch-norm": batch_norm("momentum", 0.99),
    },
    ("fashion-cnn", "training"): {"accuracy-of-other-examples": accuracy_of_other_examples},
    ("fashion-cnn", "evaluation"): {
        "batch-norm-trains-in-evaluation": batch_norm_trains_in_evaluation,
    },
    ("fashion-conv", "logits"): {"mean-pooling": mean_pooling},
    ("fashion-conv", "updates"): {"epsilon-of-optax": epsilon_of_optax},
    ("accumulating", "updates"): {"sum-of-gradients": sum_of_gradients},
    ("reuters-cnn", "updates"): {
        "constant-momentum-of-nadam": constant_momentum,
        "squares-of-the-last-occurrence": squares_of_the_last_occurrence,
    },
}
