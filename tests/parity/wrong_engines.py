"""Wrong engines, each with one bug that the parity gate must refuse; these bugs every framework can have.

A bug is a function that patches an engine's class, or a function that the engine calls. Tables of bugs have
them by name below (the workload that shows the bug, the first group of deviations that fails).
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from paragone.config.run_spec import Workload

Plant = Callable[[pytest.MonkeyPatch, type], None]
Bugs = dict[tuple[str, str], dict[str, Plant]]


def wrapped(method: str, wrong: Callable[..., Any]) -> Plant:
    """Replace a method; `wrong` is called with the right method, the engine and the arguments."""

    def plant(patch: pytest.MonkeyPatch, engine: type) -> None:
        right = getattr(engine, method)
        patch.setattr(
            engine, method, lambda self, *args, **named: wrong(right, self, *args, **named)
        )

    return plant


def workload(change: Callable[[Workload], Workload]) -> Plant:
    """Build the engine for another workload than asked for."""

    def build(right: Callable, engine: Any, spec: Any, *args: Any, **named: Any) -> None:
        right(engine, replace(spec, workload=change(spec.workload)), *args, **named)

    return wrapped("build", build)


def optimizer(**options: Any) -> Plant:
    return workload(lambda right: replace(right, optimizer=right.optimizer | options))


def dropout(factor: float) -> Plant:
    """The observation without dropout is built without it, and stays so."""
    return workload(
        lambda right: right.with_model(dropout=factor * right.dropout) if right.dropout else right
    )


def training(change: Callable[[Any, int, list[float]], tuple[int, list[float]]]) -> Plant:
    """Train with another seed and learning rates; `change` is given the engine and the right ones."""
    return wrapped(
        "train_epoch",
        lambda right, engine, seed, rates, *rest: right(
            engine, *change(engine, seed, rates), *rest
        ),
    )


def batches(change: Callable[[np.ndarray, np.ndarray], tuple]) -> Plant:
    """Feed other training batches, (inputs, labels)."""

    def plant(patch: pytest.MonkeyPatch, engine: type) -> None:
        train, probe = engine.train_epoch, engine.probe
        patch.setattr(
            engine,
            "train_epoch",
            lambda self, seed, rates, each, steps: train(
                self, seed, rates, [change(*batch) for batch in each], steps
            ),
        )
        patch.setattr(engine, "probe", lambda self, batch: probe(self, change(*batch)))

    return plant


def after_build(change: Callable[[Any], None]) -> Plant:
    """Change the built engine."""

    def build(right: Callable, engine: Any, *args: Any, **named: Any) -> None:
        right(engine, *args, **named)
        change(engine)

    return wrapped("build", build)


def padding_counts(right: Callable, engine: Any, tested: Iterable[tuple], steps: int) -> Any:
    every = [(inputs, labels, np.ones_like(weights)) for inputs, labels, weights in tested]
    return right(engine, every, steps)


def without_biases(right: Callable, engine: Any, weights: dict[str, np.ndarray]) -> None:
    right(engine, {name: v * (not name.endswith("bias")) for name, v in weights.items()})


def first_rate(engine: Any, seed: int, rates: list[float]) -> tuple[int, list[float]]:
    engine.first_rate = getattr(engine, "first_rate", rates[0])
    return seed, [engine.first_rate] * len(rates)


ANYWHERE: Bugs = {
    ("fashion-cnn", "logits"): {
        "images-not-normalized": workload(
            lambda right: replace(right, input=replace(right.input, mean=0.0, std=1.0))
        ),
        "images-transposed": batches(
            lambda inputs, labels: (np.ascontiguousarray(inputs.swapaxes(1, 2)), labels)
        ),
        "biases-start-at-zero": wrapped("set_weights", without_biases),
    },
    ("fashion-cnn", "loss"): {
        "shifted-labels": batches(lambda inputs, labels: (inputs, np.roll(labels, 1))),
    },
    ("fashion-cnn", "updates"): {
        "no-step": training(lambda _, seed, rates: (seed, [0.0 for _ in rates])),
        "no-momentum": optimizer(momentum=0.0),
    },
    ("fashion-cnn", "evaluation"): {"padding-is-evaluated": wrapped("evaluate", padding_counts)},
    ("fashion-conv", "updates"): {
        "rate-of-101-percent": training(
            lambda _, seed, rates: (seed, [1.01 * rate for rate in rates])
        ),
    },
    ("reuters-cnn", "updates"): {
        "epsilon-of-pytorch": optimizer(epsilon=1e-8),
        "beta-2-of-99-percent": optimizer(beta_2=0.99),
        "adam-for-nadam": optimizer(name="adam"),
        "words-deduplicated": optimizer(deduplicate=True),
    },
    ("cosine", "updates"): {
        "rate-of-the-first-step-stays": training(
            lambda _, seed, rates: (seed, rates[:1] * len(rates))
        ),
    },
    ("nesterov", "updates"): {
        "no-nesterov": optimizer(nesterov=False),
        "no-coupled-decay": optimizer(weight_decay=1e-9),
        "decoupled-for-coupled": optimizer(decoupled=True),
    },
    ("dampened", "updates"): {
        "no-dampening": optimizer(dampening=0.0),
        "values-not-clipped": optimizer(clip_value=1e9),
        "biases-decay": optimizer(decays="all"),
    },
    ("adam", "updates"): {"adamw-for-adam": optimizer(name="adamw")},
    ("accumulating", "updates"): {
        "update-of-each-batch": optimizer(accumulate=1),
        "update-of-three-batches": optimizer(accumulate=3),
    },
    ("averaging", "averages"): {
        "no-average": optimizer(average=1e-9),
        "decay-of-the-average": optimizer(average=0.71),
    },
    ("both", "updates"): {"accumulates-each-batch": optimizer(accumulate=1)},
    ("adamw", "updates"): {
        "adam-for-adamw": optimizer(name="adam"),
        "epsilon-of-keras": optimizer(rule="keras"),
        "all-arrays-decay": optimizer(decays="all"),
        "norm-not-clipped": optimizer(clip_norm=1e9),
    },
    ("nadam", "updates"): {"coupled-for-decoupled": optimizer(decoupled=False)},
    ("nadam-pytorch", "updates"): {"momenta-of-keras": optimizer(rule="keras")},
    ("nadam-keras-2", "updates"): {
        "all-words-move": optimizer(rule="pytorch"),
        "momenta-of-keras-3": optimizer(rule="keras"),
    },
    ("rmsprop", "updates"): {
        "not-centered": optimizer(centered=False),
        "epsilon-beside-the-root": optimizer(rule="pytorch"),
    },
    ("rmsprop-pytorch", "updates"): {"rmsprop-without-momentum": optimizer(momentum=0.0)},
    ("adagrad", "updates"): {"sum-from-zero": optimizer(initial=0.0)},
    ("adagrad-pytorch", "updates"): {"epsilon-under-the-root": optimizer(rule="keras")},
    ("channels", "logits"): {
        "channels-in-another-order": workload(
            lambda right: replace(right, input=replace(right.input, mean=right.input.mean[::-1]))
        ),
    },
    ("reuters-cnn-double-softmax", "logits"): {
        "one-softmax": workload(lambda right: replace(right, loss="cross_entropy")),
    },
    ("wide-resnet", "logits"): {
        "augmented-images-in-whole-grays": batches(
            lambda inputs, labels: (np.round(inputs), labels)
        ),
    },
    ("wide-resnet", "updates"): {"rate-of-the-first-epoch-stays": training(first_rate)},
    ("wide-resnet", "dropout"): {
        "dropout-without-seed": training(lambda _, seed, rates: (0, rates)),
        "no-dropout": dropout(0.0),
        "tenfold-dropout": dropout(10.0),
    },
}
