"""From what the loop found out to the record: clocks, steady throughput, time to target."""

import math
from dataclasses import asdict
from typing import Any

from paragone.base.clock_names import COLD
from paragone.base.engine_reports import Devices, FlopCount
from paragone.config.run_spec import Spec, requested
from paragone.records.outcome import Outcome
from paragone.records.run_metrics import steady, time_to_target


def assemble(
    spec: Spec,
    data: dict[str, Any],
    outcome: Outcome,
    observed: Devices | None,
    seconds: dict[str, float] | None,
) -> dict[str, Any]:
    """The record as plain JSON data.

    `data`: the block of the data set that was read.

    `seconds`: of each part of `clocks.PARTS`, all processes added, of rank 0 where there are several
    workers; None when the process that knew them is gone.
    """
    return {
        "schema": 1,
        "run": spec.name,
        "status": outcome.status,
        "reason": outcome.reason,
        "spec": asdict(spec),
        "data": data,
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
