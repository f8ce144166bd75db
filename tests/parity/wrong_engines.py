"""Wrong engines, each with one bug that the parity gate must refuse."""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from workspace import CONFIG

from paragone import data
from paragone.base import plugins
from paragone.config.expand import probe, with_reference
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.parity import compare
from paragone.parity.compare import Observation
from paragone.parity.observe import observe

Plant = Callable[[pytest.MonkeyPatch, type], None]


@dataclass(frozen=True)
class WrongEngine:
    """A bug: `plant` patches an engine's class, or a function that it calls.

    `workload`: the one that shows it; `group`: of deviations, the first that fails; `without`: backends on
    which the bug changes nothing or ends the process.
    """

    name: str
    workload: str
    group: str
    plant: Plant
    without: tuple[str, ...] = ()


def wrapped(method: str, wrong: Callable[..., Any]) -> Plant:
    """Replace a method; `wrong` is called with the right method, the engine and the arguments."""

    def plant(patch: pytest.MonkeyPatch, engine: type) -> None:
        right = getattr(engine, method)
        patch.setattr(
            engine, method, lambda self, *args, **named: wrong(right, self, *args, **named)
        )

    return plant


def workload(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Plant:
    """Build the engine for another workload than asked for; `change` returns the keys that differ."""

    def build(right: Callable, engine: Any, spec: Any, *args: Any, **named: Any) -> None:
        other = spec.workload | change(spec.workload)
        right(engine, replace(spec, workload=other), *args, **named)

    return wrapped("build", build)


def optimizer(**options: Any) -> Plant:
    return workload(lambda right: {"optimizer": right["optimizer"] | options})


def dropout(change: Callable[[float], float]) -> Plant:
    return workload(lambda right: {"model": right["model"] | _rate(right["model"], change)})


def _rate(model: dict[str, Any], change: Callable[[float], float]) -> dict[str, float]:
    return {"dropout": change(model["dropout"])} if "dropout" in model else {}


def training(change: Callable[[Any, int, float], tuple[int, float]]) -> Plant:
    """Train with another seed and learning rate; `change` is given the engine and the right ones."""
    return wrapped(
        "train_epoch",
        lambda right, engine, seed, rate, *rest: right(engine, *change(engine, seed, rate), *rest),
    )


def batches(change: Callable[[np.ndarray, np.ndarray], tuple]) -> Plant:
    """Feed other training batches, (inputs, labels)."""
    plants = (
        wrapped(
            "train_epoch",
            lambda right, engine, seed, rate, each, steps: right(
                engine, seed, rate, [change(*batch) for batch in each], steps
            ),
        ),
        wrapped("probe", lambda right, engine, batch: right(engine, change(*batch))),
    )

    def plant(patch: pytest.MonkeyPatch, engine: type) -> None:
        for each in plants:
            each(patch, engine)

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


def first_rate(engine: Any, seed: int, rate: float) -> tuple[int, float]:
    engine.first_rate = getattr(engine, "first_rate", rate)
    return seed, engine.first_rate


# Bugs that every framework can have.
ANYWHERE = [
    WrongEngine("no-step", "fashion-cnn", "updates", training(lambda _, seed, rate: (seed, 0.0))),
    WrongEngine(
        "rate-of-101-percent",
        "fashion-conv",
        "updates",
        training(lambda _, seed, rate: (seed, 1.01 * rate)),
    ),
    WrongEngine("rate-of-the-first-epoch-stays", "wide-resnet", "updates", training(first_rate)),
    WrongEngine("no-momentum", "fashion-cnn", "updates", optimizer(momentum=0.0)),
    WrongEngine("epsilon-of-pytorch", "reuters-cnn", "updates", optimizer(epsilon=1e-8)),
    WrongEngine("beta-2-of-99-percent", "reuters-cnn", "updates", optimizer(beta_2=0.99)),
    WrongEngine("adam-for-nadam", "reuters-cnn", "updates", optimizer(name="adam")),
    WrongEngine("words-deduplicated", "reuters-cnn", "updates", optimizer(deduplicate=True)),
    WrongEngine(
        "shifted-labels",
        "fashion-cnn",
        "loss",
        batches(lambda inputs, labels: (inputs, np.roll(labels, 1))),
    ),
    WrongEngine(
        "one-softmax",
        "reuters-cnn-double-softmax",
        "logits",
        workload(lambda right: {"loss": "cross_entropy"}),
    ),
    WrongEngine(
        "images-not-normalized",
        "fashion-cnn",
        "logits",
        workload(lambda right: {"input": right["input"] | {"mean": 0.0, "std": 1.0}}),
    ),
    WrongEngine(
        "images-transposed",
        "fashion-cnn",
        "logits",
        batches(lambda inputs, labels: (np.ascontiguousarray(inputs.swapaxes(1, 2)), labels)),
    ),
    WrongEngine(
        "augmented-images-in-whole-grays",
        "wide-resnet",
        "logits",
        batches(lambda inputs, labels: (np.round(inputs), labels)),
    ),
    WrongEngine(
        "padding-is-evaluated", "fashion-cnn", "evaluation", wrapped("evaluate", padding_counts)
    ),
    WrongEngine(
        "biases-start-at-zero", "fashion-cnn", "logits", wrapped("set_weights", without_biases)
    ),
    WrongEngine(
        "dropout-without-seed",
        "wide-resnet",
        "dropout",
        training(lambda _, seed, rate: (0, rate)),
    ),
    WrongEngine("no-dropout", "wide-resnet", "dropout", dropout(lambda rate: 0.0)),
    WrongEngine("tenfold-dropout", "wide-resnet", "dropout", dropout(lambda rate: 10 * rate)),
]
MODULES = {
    "torch": "wrong_torch",
    "torch-xla": "wrong_torch",
    "tensorflow-mirrored": "wrong_tensorflow",
    "jax": "wrong_jax",
}


def wrong_engines(backend: str, deep: bool | None = None) -> list[WrongEngine]:
    """Those of every framework, and those of the backend's own; imports its framework.

    `deep`: only those on WideResNet, or only the others.
    """
    own = importlib.import_module(f"parity.{MODULES[backend]}").WRONG
    return [
        wrong
        for wrong in [*ANYWHERE, *own]
        if backend not in wrong.without and deep in (None, wrong.workload == "wide-resnet")
    ]


def spec_of(backend: str, workload: str, precision: str) -> Spec:
    """The specification of a probe in a precision."""
    block = with_reference(CONFIG)["backends"][backend] | {"parity": precision}
    return probe(CONFIG | {"backends": {backend: block}}, workload, backend)


def verdict(
    wrong: WrongEngine,
    backend: str,
    precision: str,
    datasets: dict[str, Dataset],
    reference: Observation | compare.NoObservation,
) -> dict[str, Any]:
    """The gate's verdict on a wrong engine that is made in this process."""
    spec = spec_of(backend, wrong.workload, precision)
    engine = plugins.load("engines", spec.backend["engine"]).ENGINE
    with pytest.MonkeyPatch.context() as patch:
        wrong.plant(patch, engine)
        arrays = observe(spec, datasets[spec.workload["dataset"]])
    return compare.verdict(Observation.of(arrays), reference)


def refused_for_its_reason(wrong: WrongEngine, verdict: dict[str, Any]) -> bool:
    return verdict["passed"] is False and verdict["reason"].startswith(f"{wrong.group} deviate by ")


def not_as_expected(
    wrongs: list[WrongEngine],
    backend: str,
    precision: str,
    datasets: dict[str, Dataset],
    references: Path,
) -> dict[str, str]:
    """What the gate says of the wrong engines that it does not refuse for their reasons, by name."""
    unexpected = {}
    for wrong in wrongs:
        reference = compare.read(references / wrong.workload / "reference.npz")
        found = verdict(wrong, backend, precision, datasets, reference)
        if not refused_for_its_reason(wrong, found):
            unexpected[wrong.name] = found["reason"] or "passed"
    return unexpected


def loaded(manifests: Iterable[Path], folder: Path) -> dict[str, Dataset]:
    """Data sets by name."""
    found = [data.load(manifest, folder) for manifest in manifests]
    return {dataset.name: dataset for dataset in found}
