"""What follows from the epochs of a run: divergence, steady throughput, time to target."""

import math
from collections.abc import Sequence
from typing import Any

from paragone.records.run_record import Epoch, Steady, Target

# Nats per training example. A probability of 1e-46, which no float32 can represent, costs 106.
DIVERGED = 1e6


def steady(epochs: Sequence[Epoch]) -> Steady | None:
    """Throughput over the epochs that are not the first of their process; None if there is none."""
    warm = [epoch for epoch in epochs if not epoch.first_of_process]
    if not warm:
        return None
    examples = sum(epoch.examples for epoch in warm)
    seconds = math.fsum(epoch.train_seconds for epoch in warm)
    return Steady(len(warm), examples, seconds, examples / seconds)


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
