"""What follows from the epochs of a run: divergence, steady throughput, time to target."""

import math
from typing import Any

# Nats a training example: a chance that no float32 can hold, 1e-46, costs 106.
DIVERGED = 1e6


def steady(epochs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Throughput over the epochs that are not the first of their process."""
    warm = [row for row in epochs if not row["first_of_process"]]
    if not warm:
        return None
    examples = sum(row["examples"] for row in warm)
    seconds = math.fsum(row["train_seconds"] for row in warm)
    return {
        "epochs": len(warm),
        "examples": examples,
        "seconds": seconds,
        "examples_per_second": examples / seconds,
    }


def time_to_target(
    target: dict[str, Any] | None, epochs: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """Time to target on the train clock; the interval (last miss, first hit] holds it."""
    if target is None:
        return None
    hits = [row["test_accuracy"] >= target["accuracy"] for row in epochs]
    patience = target["patience"]
    starts = (i for i in range(len(hits) - patience + 1) if all(hits[i : i + patience]))
    first = next(starts, None)
    reached = first is not None
    return {
        "accuracy": target["accuracy"],
        "patience": patience,
        "reached": reached,
        "epoch": epochs[first]["epoch"] if reached else None,
        "last_miss": (epochs[first - 1]["elapsed"] if first else 0.0) if reached else None,
        "first_hit": epochs[first]["elapsed"] if reached else None,
    }
