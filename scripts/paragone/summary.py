"""From what the loop found out to the record: clocks, steady throughput, time to target."""

import math
from dataclasses import asdict
from typing import Any

from paragone.batches import train_examples
from paragone.clocks import COLD
from paragone.data import Dataset
from paragone.engines import Devices, FlopCount, requested
from paragone.loop import Outcome
from paragone.outcomes import steady, time_to_target
from paragone.spec import Spec


def assemble(
    spec: Spec,
    dataset: Dataset,
    outcome: Outcome,
    observed: Devices | None,
    seconds: dict[str, float] | None,
) -> dict[str, Any]:
    """The record as plain JSON data.

    `seconds`: of each part of `clocks.PARTS`, all processes added, of rank 0 where there are several
    workers; None when the process that knew them is gone.
    """
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
            "input_shape": list(dataset.train_inputs.shape[1:]),
        },
        "model": outcome.model,
        "devices": {
            "requested": asdict(requested(spec)),
            "observed": asdict(observed) if observed else None,
        },
        "processes": outcome.processes,
        "clocks": _clocks(seconds) if seconds else None,
        "steady": (warm := steady(outcome.epochs)),
        "efficiency": _efficiency(outcome.flop, warm),
        "epochs": [_finite(row) for row in outcome.epochs],
        "target": time_to_target(spec.workload.get("target"), outcome.epochs),
    }


def _clocks(seconds: dict[str, float]) -> dict[str, Any]:
    return {
        "cold": {part: seconds[part] for part in COLD},
        **{part: value for part, value in seconds.items() if part not in COLD},
        "end_to_end": math.fsum(seconds.values()),
    }


def _efficiency(flop: FlopCount | None, warm: dict[str, Any] | None) -> dict[str, Any] | None:
    """FLOP of training on one example, and per second over the steady epochs."""
    if flop is None:
        return None
    return {
        "train_flop_per_example": flop.per_example,
        "counter": flop.counter,
        "steady_flop_per_second": warm and flop.per_example * warm["examples_per_second"],
    }


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }
