"""What follows from the measurements of a run: divergence, steady throughput, time to target."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression
from typing import Any

from paragone.records.run_record import Epoch, Target, Timed

# Nats per training example. A probability of 1e-46, which no float32 can represent, costs 106.
DIVERGED = 1e6
LEAST_STEPS = 20  # of a speed window; its least seconds are the limit of the rule `window`


@dataclass
class Steady:
    """What a speed window shows: its steps take `constant_seconds` an epoch, and the rest a step.

    `constant_seconds`: None where the epochs are of one length, or too short to tell the two apart.
    """

    epochs: int
    steps: int
    seconds: float
    examples_per_second: float
    constant_seconds: float | None


def steady(window: Sequence[Timed], batch: int) -> Steady | None:
    """Throughput by least squares over the epochs of a speed window; `batch`: examples of a step."""
    if not window:
        return None
    steps = [one.steps for one in window]
    seconds = [one.seconds for one in window]
    step, constant = math.fsum(seconds) / sum(steps), None
    if len(set(steps)) > 1:
        line = linear_regression(steps, seconds)
        if line.slope > 0:
            step, constant = line
    return Steady(len(window), sum(steps), math.fsum(seconds), batch / step, constant)


def time_to_target(target: dict[str, Any] | None, epochs: Sequence[Epoch]) -> Target | None:
    """Time to the workload's `target` on the train clock: in the interval (last miss, first hit]."""
    if target is None:
        return None
    accuracy, patience = target["accuracy"], target["patience"]
    hits = [epoch.test_accuracy >= accuracy for epoch in epochs]
    starts = (at for at in range(len(hits) - patience + 1) if all(hits[at : at + patience]))
    first = next(starts, None)
    if first is None:
        return Target(accuracy, patience, False, epoch=None, last_miss=None, first_hit=None)
    hit, last_miss = epochs[first], epochs[first - 1].elapsed if first else 0.0
    return Target(accuracy, patience, True, hit.epoch, last_miss, hit.elapsed)
