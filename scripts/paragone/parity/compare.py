"""The parity gate: do two backends compute the same on the same weights and the same examples?

Deviations are relative in the Euclidean norm, ||a - b|| / ||b||, against a reference in double
precision; the largest over a model's arrays counts. An array is measured against a hundredth of all
arrays' norm if its own is smaller: a convolution's bias before batch norm has no gradient but noise.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from paragone.models.canonical_weights import Weights, trainable

# By the precision of the probe. PyTorch/XLA keeps some constants of Adam and of batch norm in single
# precision (6e-8) even where the weights are double; a deep network multiplies that. In single
# precision a rectifier or a pooling window whose inputs tie to the last digit may decide otherwise,
# which changes whole gradients. The running variance differs by definition: PyTorch keeps the unbiased
# one, Keras the biased one, n/(n-1) apart for n values of a channel.
TOLERANCES = {
    "float64": {
        "logits": 1e-6,
        "loss": 1e-6,
        "gradients": 1e-5,
        "weights": 1e-2,
        "statistics": 1e-2,
    },
    "float32": {
        "logits": 1e-3,
        "loss": 1e-4,
        "gradients": 5e-2,
        "weights": 2e-2,
        "statistics": 1e-2,
    },
}


@dataclass(frozen=True)
class Observation:
    """What one backend computed: on the initial weights, then after a few steps."""

    precision: str
    parameters: int
    logits: np.ndarray
    loss: np.ndarray
    gradients: Weights
    weights: Weights


def compare(found: Observation, reference: Observation) -> dict[str, Any]:
    """Judge one backend: `passed`, its `deviations` (named as in `TOLERANCES`), the `reason`."""
    if found.parameters != reference.parameters:
        reason = f"{found.parameters} trainable parameters, {reference.parameters} expected"
        return {"passed": False, "reason": reason, "deviations": {}}
    allowed = TOLERANCES[found.precision]
    learned = {name: values for name, values in reference.weights.items() if trainable(name)}
    rest = {name: values for name, values in reference.weights.items() if not trainable(name)}
    deviations = {
        "logits": _deviation(found.logits, reference.logits),
        "loss": _deviation(found.loss, reference.loss),
        "gradients": _largest(found.gradients, reference.gradients),
        "weights": _largest(found.weights, learned),
        "statistics": _largest(found.weights, rest),
    }
    # Not `>`: a deviation that is not a number must fail.
    failed = [name for name, value in deviations.items() if not value <= allowed[name]]
    reason = "; ".join(
        f"{name} deviate by {deviations[name]:.1e}, allowed {allowed[name]:.0e}" for name in failed
    )
    return {"passed": not failed, "reason": reason or None, "deviations": deviations}


def _largest(found: Weights, reference: Weights) -> float:
    floor = 0.01 * np.sqrt(sum(np.sum(values**2) for values in reference.values()))
    deviations = [_deviation(found.get(name), values, floor) for name, values in reference.items()]
    return float(np.max(deviations, initial=0.0))  # unlike Python's max it keeps a NaN


def _deviation(found: np.ndarray | None, reference: np.ndarray, floor: float = 0.0) -> float:
    if found is None or found.shape != reference.shape:
        return math.inf
    scale = max(float(np.linalg.norm(reference)), floor)
    return float(np.linalg.norm(found - reference) / (scale if scale > 0 else 1.0))
