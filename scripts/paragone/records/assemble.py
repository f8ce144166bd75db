"""From the outcome of the training loop to the record."""

import math
from typing import Any

from paragone.base.clock_names import COLD
from paragone.base.engine_reports import Devices
from paragone.config.run_spec import Spec
from paragone.records.outcome import Outcome
from paragone.records.run_record import (
    Clocks,
    ColdClocks,
    DataRead,
    Efficiency,
    Epoch,
    FirstSteps,
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
    flop, epochs = outcome.flop, [Epoch(**_finite(row)) for row in outcome.epochs]
    return RunRecord(
        schema=1,
        run=spec.name,
        status=outcome.status,
        reason=outcome.reason,
        spec=spec,
        schedule=schedule,
        data=data,
        model=Model(**outcome.model) if outcome.model else None,
        devices=observed,
        first_steps=_first_steps(outcome.first_steps) if outcome.first_steps else None,
        processes=[from_json(Process, one) for one in outcome.processes],
        clocks=_clocks(seconds, epochs) if seconds else None,
        efficiency=Efficiency(flop.per_example, flop.counter) if flop else None,
        epochs=epochs,
        window=outcome.window,
    )


def _first_steps(verdict: dict[str, Any]) -> FirstSteps:
    deviations = _finite(verdict["deviations"])
    return FirstSteps(verdict["reason"], deviations, verdict["allowed"])


def _clocks(seconds: dict[str, float], epochs: list[Epoch]) -> Clocks:
    """Those of the epochs are in the epochs; the time of one that a full memory has ended is `other`."""
    unfinished = seconds["train"] + seconds["evaluate"]
    unfinished -= math.fsum(epoch.train_seconds + epoch.evaluate_seconds for epoch in epochs)
    return Clocks(
        cold=ColdClocks(**{part: seconds[part] for part in COLD}),
        checkpoint=seconds["checkpoint"],
        window=seconds["window"],
        other=seconds["other"] + unfinished,
    )


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }
