"""From the outcome of the training loop to the record: clocks, steady throughput, time to target."""

import math
from typing import Any

from paragone.base.clock_names import COLD
from paragone.base.engine_reports import Devices, FlopCount
from paragone.config.run_spec import Spec, requested
from paragone.records.outcome import Outcome
from paragone.records.run_metrics import Steady, steady, time_to_target
from paragone.records.run_record import (
    Clocks,
    ColdClocks,
    DataRead,
    DeviceCounts,
    Efficiency,
    Epoch,
    Model,
    Process,
    RunRecord,
    Schedule,
    from_json,
)


def assemble(
    spec: Spec,
    schedule: Schedule | None,
    data: DataRead,
    outcome: Outcome,
    observed: Devices | None,
    seconds: dict[str, float] | None,
) -> RunRecord:
    """The record of a run.

    `seconds`: of each part of `clock_names.PARTS`, summed over the starts of rank 0; None when the process
    that measured them is gone.
    """
    epochs = [Epoch(**_finite(row)) for row in outcome.epochs]
    return RunRecord(
        schema=1,
        run=spec.name,
        status=outcome.status,
        reason=outcome.reason,
        spec=spec,
        schedule=schedule,
        data=data,
        model=Model(**outcome.model) if outcome.model else None,
        devices=DeviceCounts(requested(spec), observed),
        processes=[from_json(Process, one) for one in outcome.processes],
        clocks=_clocks(seconds) if seconds else None,
        efficiency=_efficiency(outcome.flop, steady(outcome.window, spec.batch["global"])),
        epochs=epochs,
        window=outcome.window,
        target=time_to_target(spec.workload.get("target"), epochs),
    )


def _clocks(seconds: dict[str, float]) -> Clocks:
    cold = ColdClocks(**{part: seconds[part] for part in COLD})
    rest = {part: value for part, value in seconds.items() if part not in COLD}
    return Clocks(cold=cold, end_to_end=math.fsum(seconds.values()), **rest)


def _efficiency(flop: FlopCount | None, warm: Steady | None) -> Efficiency | None:
    """FLOP of training on one example, and FLOP/s in the speed window."""
    if flop is None:
        return None
    speed = flop.per_example * warm.examples_per_second if warm else None
    return Efficiency(flop.per_example, flop.counter, speed)


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }
