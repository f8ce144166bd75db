"""Wrong engines and loops, each with one bug that the parity gate must refuse; every framework can have them.

A bug is a function that patches an engine's class, or a function that the engine calls. Tables of bugs have
them by name below (the workload that shows the bug, the first group of deviations that fails).
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from paragone.config.run_spec import Spec, Validation, Workload
from paragone.data import batches as data_path
from paragone.models.weights import trainable
from paragone.parity import first_steps
from paragone.training import loop

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


def task(**changes: Any) -> Plant:
    """Build the engine for another task than asked for."""
    return workload(lambda right: replace(right, task=replace(right.task, **changes)))


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


def optimizer_as_built(engine: Any) -> None:
    weights = engine.weights()
    engine.restore(engine.fresh)
    engine.fresh = engine.snapshot()  # one serves once
    engine.set_weights(weights)


def once_more_from_the_start(right: Callable, engine: Any, *args: Any) -> Any:
    """Train an epoch with the optimizer as it was built."""
    optimizer_as_built(engine)
    return right(engine, *args)


def new_optimizer(patch: pytest.MonkeyPatch, engine: type) -> None:
    after_build(lambda built: setattr(built, "fresh", built.snapshot()))(patch, engine)
    wrapped("train_epoch", once_more_from_the_start)(patch, engine)


def metrics_of_the_epoch_before(right: Callable, engine: Any, *args: Any) -> Any:
    now = right(engine, *args)
    before, engine.metrics_before = getattr(engine, "metrics_before", now), now
    return before


def best_evaluation(right: Callable, engine: Any, each: Iterable[tuple], steps: int) -> Any:
    """Return the least loss so far, as early stopping may; the warm-up has one batch."""
    now = right(engine, each, steps)
    engine.best = min(getattr(engine, "best", now), now, key=lambda metrics: metrics.loss)
    return engine.best if steps > 1 else now


def best_epoch() -> Plant:
    """Write the metrics of the best evaluation so far into each epoch."""
    best = {"test_loss": np.inf}

    def row(right: Callable, **values: Any) -> Any:
        if values["epoch"] == 1 or values["test_loss"] < best["test_loss"]:
            best.update({key: value for key, value in values.items() if key.startswith("test_")})
        return right(**values | best)

    return elsewhere(loop, "Epoch", row)


def eight_steps(right: Callable, engine: Any, seed: int, rates: list, each: Any, steps: int) -> Any:
    """End an epoch early, although all batches are drawn."""
    return right(engine, seed, rates[:8], [*each][:8], min(8, steps))


def one_batch(right: Callable, engine: Any, seed: int, rates: list, each: Any, steps: int) -> Any:
    """Repeat the first batch of a long epoch, although all are drawn."""
    each = [*each]
    return right(engine, seed, rates, each[:1] * steps if steps > 4 else each, steps)


def statistics_begin_anew(right: Callable, engine: Any, *args: Any) -> Any:
    weights = engine.weights()
    engine.set_weights(
        {k: v if trainable(k) else np.full_like(v, "variance" in k) for k, v in weights.items()}
    )
    return right(engine, *args)


def without_the_optimizer(right: Callable, engine: Any, folder: Any) -> None:
    right(engine, folder)
    optimizer_as_built(engine)


def optimizer_not_loaded(patch: pytest.MonkeyPatch, engine: type) -> None:
    after_build(lambda built: setattr(built, "fresh", built.snapshot()))(patch, engine)
    wrapped("load", without_the_optimizer)(patch, engine)


def elsewhere(module: Any, name: str, wrong: Callable[..., Any]) -> Plant:
    """Replace a function of the loop or the data path; `wrong` is called with the right one and arguments."""

    def plant(patch: pytest.MonkeyPatch, engine: type) -> None:
        right = getattr(module, name)
        patch.setattr(module, name, lambda *args, **named: wrong(right, *args, **named))

    return plant


def tested(change: Callable[[Any, Any], Any]) -> Plant:
    """Evaluate on another data set, of the right one and the specification."""
    return elsewhere(
        loop,
        "evaluation_batches",
        lambda right, dataset, spec, *rest: right(change(dataset, spec), spec, *rest),
    )


def on_training_images(dataset: Any, spec: Any) -> Any:
    count = len(dataset.test_labels)
    return dataclasses.replace(
        dataset,
        test_inputs=dataset.train_inputs[:count],
        test_labels=dataset.train_labels[:count],
    )


def on_augmented_images(dataset: Any, spec: Any) -> Any:
    drawn = data_path.draw(
        len(dataset.test_labels), spec.workload.augmentation, np.random.default_rng(0)
    )
    return dataclasses.replace(dataset, test_inputs=data_path.augment(dataset.test_inputs, drawn))


def on_held_out_images(right: Callable, dataset: Any, spec: Any, *rest: Any) -> Any:
    """Train on as many examples, but on the first ones."""
    count = data_path.train_examples(dataset, spec)
    all_of_them = replace(spec.workload, validation=None, train_examples=count)
    return right(dataset, replace(spec, workload=all_of_them), *rest)


def on_trained_images(right: Callable, dataset: Any, spec: Any, *rest: Any) -> Any:
    """Validate on as many examples, but on the first ones."""
    others = Validation(first=spec.workload.validation.random)
    return right(dataset, replace(spec, workload=replace(spec.workload, validation=others)), *rest)


def half_of_each(right: Callable, *args: Any) -> Any:
    for inputs, labels, weights in right(*args):
        yield inputs, labels, weights * (np.arange(len(weights)) < len(weights) // 2)


def shifted(right: Callable, dataset: Any, *args: Any) -> Any:
    return ((inputs, np.roll(labels, 1)) for inputs, labels in right(dataset, *args))


def first_steps_stay(right: Callable, worker: Any) -> Any:
    verdict = right(worker)
    first_steps.take(worker.engine, worker.spec, worker.dataset, 1)
    return verdict


def an_epoch_late(right: Callable, spec: Any, epoch: int, steps: int) -> list[float]:
    return right(spec, max(1, epoch - 1), steps)


def a_step_late(right: Callable, spec: Any, epoch: int, steps: int) -> list[float]:
    rates = right(spec, epoch, steps)
    return [*rates[:1], *rates[:-1]]


# Faults of the loop and the data path, which all engines share.
OF_LOOP: Bugs = {
    ("loop", "updates"): {
        "rate-an-epoch-late": elsewhere(Spec, "learning_rates", an_epoch_late),
        "one-order-for-all-epochs": elsewhere(
            data_path, "epoch_order", lambda right, examples, seed, _: right(examples, seed, 1)
        ),
        "order-of-the-files": elsewhere(
            data_path, "epoch_order", lambda right, examples, *_: np.arange(examples)
        ),
        "one-augmentation-for-all-epochs": elsewhere(
            data_path, "generator", lambda right, purpose, seed, _: right(purpose, seed, 1)
        ),
        "never-flipped": elsewhere(
            data_path,
            "draw",
            lambda right, size, changes, random: right(size, replace(changes, flip=False), random),
        ),
        "labels-of-the-neighbors": elsewhere(loop, "train_batches", shifted),
        "first-steps-stay": elsewhere(loop, "warm_up", first_steps_stay),
    },
    ("loop", "evaluation"): {
        "tested-on-training-images": tested(on_training_images),
        "test-images-augmented": tested(on_augmented_images),
        "half-of-the-test-images": elsewhere(loop, "evaluation_batches", half_of_each),
        "best-epoch-for-the-last": best_epoch(),
    },
    ("validating", "updates"): {
        "held-out-images-are-trained-on": elsewhere(loop, "train_batches", on_held_out_images),
    },
    ("validating", "evaluation"): {
        "validated-on-trained-images": elsewhere(loop, "evaluation_batches", on_trained_images),
    },
    ("cosine", "updates"): {"rate-a-step-late": elsewhere(Spec, "learning_rates", a_step_late)},
    ("wide-resnet", "updates"): {
        "examples-beyond-the-first": elsewhere(
            data_path,
            "epoch_order",
            lambda right, examples, *rest: right(examples + 8, *rest)[:examples],
        ),
    },
    ("wide-resnet", "dropout"): {
        "one-seed-for-all-epochs": elsewhere(
            loop, "framework_seed", lambda right, seed, _: right(seed, 1)
        ),
    },
}

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
        "smoothed-labels": task(label_smoothing=0.01),
    },
    ("fashion-cnn", "updates"): {
        "nesterov": optimizer(nesterov=True),
        "clipped-gradient": optimizer(clip_norm=0.5),
        "weight-decay": optimizer(weight_decay=1e-3),
        "no-step": training(lambda _, seed, rates: (seed, [0.0 for _ in rates])),
        "no-momentum": optimizer(momentum=0.0),
    },
    ("fashion-cnn", "evaluation"): {
        "padding-is-evaluated": wrapped("evaluate", padding_counts),
        "best-evaluation-so-far": wrapped("evaluate", best_evaluation),
    },
    ("loop", "logits"): {
        "augmented-images-in-whole-grays": batches(
            lambda inputs, labels: (np.round(inputs), labels)
        ),
    },
    ("loop", "updates"): {
        "new-optimizer-for-each-epoch": new_optimizer,
        "rate-of-the-first-epoch-stays": training(first_rate),
        "a-long-epoch-ends-early": wrapped("train_epoch", eight_steps),
        "a-long-epoch-repeats-a-batch": wrapped("train_epoch", one_batch),
    },
    ("loop", "statistics"): {
        "statistics-begin-anew": wrapped("train_epoch", statistics_begin_anew),
    },
    ("loop", "training"): {
        "metrics-of-the-epoch-before": wrapped("train_epoch", metrics_of_the_epoch_before),
    },
    ("loop", "resumed"): {"optimizer-not-loaded": optimizer_not_loaded},
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
        "biases-decay": optimizer(decays="all"),
    },
    ("adam", "updates"): {"adamw-for-adam": optimizer(name="adamw")},
    ("accumulating", "updates"): {
        "update-of-each-batch": optimizer(accumulate=1),
        "update-of-three-batches": optimizer(accumulate=3),
    },
    ("adamw", "updates"): {
        "adam-for-adamw": optimizer(name="adam"),
        "epsilon-of-keras": optimizer(rule="keras"),
        "all-arrays-decay": optimizer(decays="all"),
        "norm-not-clipped": optimizer(clip_norm=1e9),
    },
    ("nadam", "updates"): {"momenta-of-pytorch": optimizer(rule="pytorch")},
    ("nadam-pytorch", "updates"): {"momenta-of-keras": optimizer(rule="keras")},
    ("nadam-keras-2", "updates"): {
        "all-words-move": optimizer(rule="pytorch"),
        "momenta-of-keras-3": optimizer(rule="keras"),
    },
    ("rmsprop", "updates"): {
        "rmsprop-without-momentum": optimizer(momentum=0.0),
        "epsilon-of-a-tenth": optimizer(epsilon=1e-4),
    },
    ("adagrad", "updates"): {"sum-from-zero": optimizer(initial=0.0)},
    ("channels", "logits"): {
        "channels-in-another-order": workload(
            lambda right: replace(right, input=replace(right.input, mean=right.input.mean[::-1]))
        ),
    },
    ("reuters-cnn-double-softmax", "logits"): {
        "one-softmax": workload(lambda right: replace(right, loss="cross_entropy")),
    },
    ("wide-resnet", "dropout"): {
        "dropout-without-seed": training(lambda _, seed, rates: (0, rates)),
        "no-dropout": dropout(0.0),
        "tenfold-dropout": dropout(10.0),
    },
}
