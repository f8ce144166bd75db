"""Run the gate on every task of one backend, as it is and with wrong losses and scores, in one process.

    python judge_tasks.py <backend> <folder>

With the backend `reference` it writes to the folder what others are compared with, in a process of its own,
as PyTorch/XLA cannot share one with PyTorch, and prints null. With others it prints one JSON object: the
gate's "reasons" by workload, None where it passed; "unexpected": the reasons, by name, where it did not
refuse a wrong engine for its reason.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parity.tasks import CLASSES, CONFIGURED, TASKS, add_models, dataset, functions
from parity.wrong_engines import Plant, batches, task
from workspace import config_of

from paragone.base import plugins
from paragone.config.expand import probe, with_reference
from paragone.parity import compare
from paragone.training.observe import observe, write

Change = Callable[[Any], Any]


def a_mean_for_each_example(patch: pytest.MonkeyPatch, engine: type) -> None:
    """Average over the labels of an example that count, then over examples."""
    modules = (sys.modules[each.__module__] for each in engine.__mro__)
    module = next(each.tasks for each in modules if hasattr(each, "tasks"))
    losses, weights = module.losses, module.weights
    patch.setattr(module, "losses", lambda *of: losses(*of) / weights(*of))
    patch.setattr(module, "weights", lambda *of: weights(*of) * 0 + 1)


def among_four(patch: pytest.MonkeyPatch, engine: type) -> None:
    """Measure top-4 accuracy."""
    patch.setattr(functions(engine.__module__.rpartition(".")[2]), "TOP", 4)


BUGS: dict[tuple[str, str], dict[str, Change | Plant]] = {
    ("numbers", "loss"): {
        "half-the-square": ("loss", "losses", lambda found: found / 2),
        "sum-over-targets": ("loss", "losses", lambda found: found * 2),
        "targets-swapped": batches(lambda inputs, labels: (inputs, labels[:, ::-1].copy())),
        "square-root": ("loss", "losses", lambda found: found**0.5),
    },
    ("numbers", "training"): {"half-the-error": ("scores", lambda found: [found[0] / 2])},
    ("next-words", "loss"): {
        "the-same-word": batches(lambda inputs, labels: (inputs, inputs)),
        "one-word-late": batches(lambda inputs, labels: (inputs, np.roll(labels, 1, 1))),
        "sum-over-words": ("loss", "losses", lambda found: found * LENGTH),
        "in-bits": ("loss", "losses", lambda found: found / np.log(2)),
    },
    ("pixels", "loss"): {
        "rows-for-columns": batches(lambda inputs, labels: (inputs, labels[:, ::-1].copy())),
    },
    ("weighted", "loss"): {
        "divided-by-the-weights": task(rule="pytorch"),
        "not-smoothed": task(label_smoothing=0.0),
    },
    ("ignored-words", "loss"): {
        "divided-by-all-words": ("weights", lambda found: found * 0 + 1),
        "a-mean-for-each-example": a_mean_for_each_example,
        "ignored-are-of-the-last-class": batches(
            lambda inputs, labels: (inputs, np.where(labels < 0, CLASSES - 1, labels))
        ),
    },
    ("ignored-words", "training"): {
        "ignored-words-are-wrong": ("counts", lambda found: found * 0 + 1),
    },
    ("weighted-pixels", "loss"): {
        "divided-by-the-pixels": task(rule="keras"),
        "no-weights": task(class_weights=(1.0,) * CLASSES),
    },
    ("tags", "loss"): {
        "sum-over-classes": ("loss", "losses", lambda found: found * CLASSES),
    },
    ("tags", "training"): {
        "accuracy-of-each-class": ("counts", lambda found: found * 0 + 1),
    },
    ("ranked", "training"): {
        "among-four": among_four,
        "the-largest-alone": ("scores", lambda found: found[:1] * 2),
    },
    ("pixels", "training"): {"all-or-nothing": ("scores", lambda found: [found[0] // 1])},
}
LENGTH = 6


def plant(patch: pytest.MonkeyPatch, engine: str, bug: Any) -> None:
    """Plant a bug: a `Plant`, or the names of functions of tasks and what to make of their results."""
    if callable(bug):
        return bug(patch, plugins.load("engines", engine).ENGINE)
    module, (*names, change) = functions(engine), bug
    for name in names:
        if right := getattr(module, name, None):
            patch.setattr(module, name, lambda *args, right=right: change(right(*args)))


def main() -> None:
    """Run the program."""
    backend, folder = sys.argv[1:]
    engine = with_reference(config_of(CONFIGURED).backends)[backend].engine
    add_models(engine)
    if backend == "reference":
        for name in TASKS:
            write(
                observe(probe(config_of(CONFIGURED), name, backend), dataset(name)),
                Path(folder, f"{name}.npz"),
            )
        return print("null")
    references = {name: compare.read(Path(folder, f"{name}.npz")) for name in TASKS}
    found = {name: judged(name, backend, reference) for name, reference in references.items()}
    unexpected = {}
    for (name, group), bugs in BUGS.items():
        for kind, bug in bugs.items():
            with pytest.MonkeyPatch.context() as patch:
                plant(patch, engine, bug)
                reason = judged(name, backend, references[name])
            if not (reason or "").startswith(f"{group} deviate by "):
                unexpected[kind] = reason or "passed"
    print(json.dumps({"reasons": found, "unexpected": unexpected}))


def judged(workload: str, backend: str, reference: compare.Observation) -> str | None:
    arrays = observe(probe(config_of(CONFIGURED), workload, backend), dataset(workload))
    return compare.compare(compare.Observation.of(arrays), reference).reason


if __name__ == "__main__":
    main()
