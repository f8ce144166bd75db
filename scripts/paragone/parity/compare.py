"""The parity gate: do two backends compute the same on the same weights and the same examples?

Deviations are relative in the Euclidean norm, ||a - b|| / ||b||, against the reference in double
precision; the largest over a model's arrays counts. Weights and statistics are measured against what
the steps changed of them: a weight that never moved is off by 1. An array that hardly changes (a
convolution's bias before batch norm has no gradient but noise) is measured against `FLOORS` of all.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paragone.models.canonical_weights import Weights, trainable

# By the precision of the probe. The largest that CPUs were seen to deviate by, in double precision, mostly
# with MobileNetV2; a deep network multiplies what a constant is off by:
#
#              logits    loss   gradients  training  updates  statistics  evaluation
# torch        2e-16    3e-16     9e-14      4e-08     4e-09     5e-12       2e-08
# tensorflow   3e-13    3e-15     4e-13      6e-08     3e-08     9e-12       2e-08
# torch-xla    9e-09    2e-10     2e-08      4e-08     3e-06     6e-07       2e-08
#
# Metrics are summed in single precision; Keras rounds a constant of Nadam, and XLA batch norm's epsilon,
# to it. In single precision a rectifier or a pooling window whose inputs tie to the last digit may decide
# otherwise, which changes whole gradients, and Adam makes a full step of a gradient that is only noise.
TOLERANCES = {
    "float64": {
        "logits": 1e-6,
        "loss": 1e-7,
        "gradients": 1e-5,
        "training": 1e-6,
        "updates": 1e-4,
        "statistics": 1e-5,
        "evaluation": 1e-6,
        "dropout": 0.7,
    },
    "float32": {
        "logits": 1e-3,
        "loss": 1e-4,
        "gradients": 1e-1,
        "training": 1e-1,
        "updates": 0.9,
        "statistics": 0.5,
        "evaluation": 1e-2,
        "dropout": 0.7,
    },
}
FLOORS = {"float64": 1e-3, "float32": 1e-2}


@dataclass(frozen=True)
class Observation:
    """What one backend computed: on the initial weights, then after a few steps.

    training, evaluation: rows of loss and accuracy; dropout: see `observe`, empty where there is none.
    """

    precision: str
    parameters: int
    logits: np.ndarray
    loss: np.ndarray
    training: np.ndarray
    evaluation: np.ndarray
    gradients: Weights
    initial: Weights
    weights: Weights
    dropout: Weights = field(default_factory=dict)


def compare(found: Observation, reference: Observation) -> dict[str, Any]:
    """Judge one backend: `passed`, its `deviations` (named as in `TOLERANCES`), the `reason`."""
    if found.parameters != reference.parameters:
        reason = f"{found.parameters} trainable parameters, {reference.parameters} expected"
        return {"passed": False, "reason": reason, "deviations": {}}
    floor = FLOORS[found.precision]
    learned = [name for name in reference.weights if trainable(name)]
    rest = [name for name in reference.weights if not trainable(name)]
    each = {
        "logits": {"": _deviation(found.logits, reference.logits)},
        "loss": {"": _deviation(found.loss, reference.loss)},
        "gradients": _each(found.gradients, reference.gradients, reference.gradients, floor),
        "training": _of_metrics(found.training, reference.training),
        "updates": _changes(found, reference, learned, floor),
        "statistics": _changes(found, reference, rest, floor),
        "evaluation": _of_metrics(found.evaluation, reference.evaluation),
    }
    if reference.dropout:
        each["dropout"] = {"": _of_dropout(found.dropout, reference.dropout)}
    allowed = TOLERANCES[found.precision]
    # Python's max would lose a NaN, and so would `>`: a deviation that is not a number must fail.
    deviations = {
        group: float(np.max([*values.values()], initial=0.0)) for group, values in each.items()
    }
    reason = "; ".join(
        f"{group} deviate by {value:.1e}{_where(each[group])}, allowed {allowed[group]:.0e}"
        for group, value in deviations.items()
        if not value <= allowed[group]
    )
    return {"passed": not reason, "reason": reason or None, "deviations": deviations}


def _where(values: dict[str, float]) -> str:
    """The array that deviates most, in parentheses; nothing for a group of one without a name."""
    worst = max(values, key=lambda name: np.nan_to_num(values[name], nan=math.inf))
    return f" ({worst})" if worst else ""


def _changes(
    found: Observation, reference: Observation, names: list[str], floor: float
) -> dict[str, float]:
    changes = {name: reference.weights[name] - reference.initial[name] for name in names}
    expected = {name: reference.weights[name] for name in names}
    return _each(found.weights, expected, changes, floor)


def _each(found: Weights, reference: Weights, scales: Weights, floor: float) -> dict[str, float]:
    """The deviation of each array against the norm of its scale, or a share of the norm of all."""
    least = floor * math.sqrt(sum(float(np.sum(values**2)) for values in scales.values()))
    return {
        name: _deviation(found.get(name), values, max(float(np.linalg.norm(scales[name])), least))
        for name, values in reference.items()
    }


def _deviation(found: np.ndarray | None, reference: np.ndarray, scale: float = 0.0) -> float:
    if found is None or found.shape != reference.shape:
        return math.inf
    scale = scale or float(np.linalg.norm(reference))
    return float(np.linalg.norm(found - reference) / (scale or 1.0))


def _of_metrics(found: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    """Of losses relative, of accuracies absolute: each may be 0."""
    if found.shape != reference.shape:
        return {"loss": math.inf}
    loss, accuracy = np.abs(found - reference).max(0)
    return {"loss": float(loss / np.abs(reference[:, 0]).max()), "accuracy": float(accuracy)}


def _of_dropout(found: Weights, reference: Weights) -> float:
    """How far the effect on logits is from the reference's, whose draws are others: |log(a / b)|.

    Infinite where the seed does not decide: two give one loss, or one gives two.
    """
    if not found:
        return math.inf
    first, other, again = found["losses"]
    if first == other or first != again:
        return math.inf
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(found["effect"] / reference["effect"])))
