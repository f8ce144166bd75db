"""From what the loop found out to the record: clocks, steady throughput, time to target."""

import math
from dataclasses import asdict
from typing import Any

from paragone.batches import train_examples
from paragone.clocks import COLD
from paragone.data import Dataset
from paragone.engines import Devices, FlopCount
from paragone.loop import Outcome
from paragone.spec import Spec


def assemble(
    spec: Spec,
    dataset: Dataset,
    outcome: Outcome,
    observed: Devices | None,
    seconds: dict[str, float],
) -> dict[str, Any]:
    """The record as plain JSON data. `seconds`: of each part of `clocks.PARTS`, all processes added."""
    return {
        "schema": 1,
        "run": spec.name,
        "status": outcome.status,
        "reason": outcome.reason,
        "spec": asdict(spec),
        "data": {
            "dataset": dataset.name,
            "source": dataset.source,
            "edition": dataset.edition,
            "manifest_sha256": dataset.manifest_sha256,
            "train_examples": train_examples(dataset, spec),
            "test_examples": len(dataset.test_labels),
        },
        "model": outcome.model,
        "devices": {
            "requested": asdict(Devices(spec.backend["device"], spec.replicas, workers=1)),
            "observed": asdict(observed) if observed else None,
        },
        "processes": outcome.processes,
        "clocks": {
            "cold": {part: seconds[part] for part in COLD},
            **{part: value for part, value in seconds.items() if part not in COLD},
            "end_to_end": math.fsum(seconds.values()),
        },
        "steady": (steady := _steady(outcome.epochs)),
        "efficiency": _efficiency(outcome.flop, steady),
        "epochs": [_finite(row) for row in outcome.epochs],
        "target": _target(spec.workload.get("target"), outcome.epochs),
    }


def _steady(epochs: list[dict[str, Any]]) -> dict[str, Any] | None:
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


def _efficiency(flop: FlopCount | None, steady: dict[str, Any] | None) -> dict[str, Any] | None:
    """FLOP of training on one example, and per second over the steady epochs."""
    if flop is None:
        return None
    return {
        "train_flop_per_example": flop.per_example,
        "counter": flop.counter,
        "steady_flop_per_second": steady and flop.per_example * steady["examples_per_second"],
    }


def _target(target: dict[str, Any] | None, epochs: list[dict[str, Any]]) -> dict[str, Any] | None:
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


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }
