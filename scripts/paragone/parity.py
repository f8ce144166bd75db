"""The parity gate: do two backends compute the same on the same weights and the same examples?

Deviations are relative in the Euclidean norm, ||a - b|| / ||b||, against a reference in double
precision; the largest over a model's arrays counts.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from paragone.weights import Weights, trainable

# Single precision has a relative spacing of 6e-8; sums over up to 10,000 terms lose two to three
# digits of it. CPUs were seen at a tenth of these bounds. The running variance differs by definition:
# PyTorch keeps the unbiased one, Keras the biased one, n/(n-1) apart for n values of a channel.
TOLERANCES = {
    "logits": 1e-4,
    "loss": 1e-5,
    "gradients": 1e-3,
    "weights": 1e-4,
    "statistics": 1e-3,
}


@dataclass(frozen=True)
class Observation:
    """What one backend computed: on the initial weights, then after a few steps."""

    parameters: int
    logits: np.ndarray
    loss: np.ndarray
    gradients: Weights
    weights: Weights


def compare(found: Observation, reference: Observation) -> dict[str, Any]:
    """Judge one backend: `passed`, its `deviations` (by the names of `TOLERANCES`), the `reason`."""
    if found.parameters != reference.parameters:
        reason = f"{found.parameters} trainable parameters, {reference.parameters} expected"
        return {"passed": False, "reason": reason, "deviations": {}}
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
    failed = [name for name, value in deviations.items() if not value <= TOLERANCES[name]]
    reason = "; ".join(
        f"{name} deviate by {deviations[name]:.1e}, allowed {TOLERANCES[name]:.0e}"
        for name in failed
    )
    return {"passed": not failed, "reason": reason or None, "deviations": deviations}


def _largest(found: Weights, reference: Weights) -> float:
    deviations = [_deviation(found.get(name), values) for name, values in reference.items()]
    return float(np.max(deviations, initial=0.0))  # unlike Python's max it keeps a NaN


def _deviation(found: np.ndarray | None, reference: np.ndarray) -> float:
    if found is None or found.shape != reference.shape:
        return math.inf
    scale = np.linalg.norm(reference)
    return float(np.linalg.norm(found - reference) / (scale if scale > 0 else 1.0))
