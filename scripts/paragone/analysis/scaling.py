"""Measured scaling: step time, speed-up and efficiency of each cell of an experiment."""

from typing import Any

import pandas as pd

from paragone.analysis import grouping
from paragone.analysis.grouping import Series, series_of, shares_cores, sweeps_of
from paragone.analysis.statistics import Estimate, summarize
from paragone.base.errors import UserError
from paragone.config.questions import SIZE, kind

SHARED = (
    "Replicas here are virtual: they share the cores of one machine, so the ideal speed-up is 1 and the "
    "ideal efficiency 1/n; higher values come from idle cores or larger batches."
)


def scaling_kind(runs: pd.DataFrame) -> str:
    """Return `strong` or `weak`. Raise `UserError` when the runs of the experiment scale neither way."""
    way = kind([*runs[SIZE].itertuples(index=False)])
    if way is None:
        raise UserError("these runs have neither one global batch nor one batch per replica")
    return way


def scaling_table(
    runs: pd.DataFrame, labels: dict[str, str], rounds: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return one row per backend, machine and number of replicas, with intervals.

    `rounds`: the windows of contests. `step_seconds`: the time of a step. `speed_up`: throughput over that
    of one replica, paired by contest, or by seed; `efficiency`: speed-up over replicas. `ideal`: the speed-up
    that the devices allow, 1 on shared cores, n with one device per replica. `words`: why a value is missing.
    """
    rows = []
    for sweep in sweeps_of(runs, labels, rounds=rounds):
        cells = sorted(series_of(sweep.runs, labels, rounds), key=lambda cell: cell.replicas)
        single = [cell for cell in cells if cell.replicas == 1]
        base = single[0].speeds if single else pd.Series(dtype="float64")
        name = labels.get(sweep.backend, sweep.backend) if len(cells) == 1 else sweep.label
        shared = shares_cores(sweep.runs)
        rows += [{"series": name, **_row(cell, base, shared)} for cell in cells]
    return pd.DataFrame(rows)


def _row(cell: Series, base: pd.Series, shared: bool) -> dict[str, Any]:
    replicas, batch = cell.size
    speeds, reasons = cell.speeds, grouping.not_timed(cell)
    step, gain = summarize(batch / speeds), summarize((speeds / base).dropna())
    if step.n and not gain.n:
        reasons = [*reasons, f"no {cell.unit} of one replica to compare with"]
    return {
        "backend": cell.backend,
        **dict(zip(SIZE, cell.size, strict=True)),
        "per_replica_batch": batch // replicas,
        "devices": "shared cores" if shared else "a device each",
        "ideal": 1 if shared else replicas,
        "n": step.n,
        **_named("step_seconds", step),
        "pairs": gain.n,
        **_named("speed_up", gain),
        **_named("efficiency", gain, replicas),
        "runs": " ".join(sorted(cell.measured["run"])),
        "words": "; ".join(reasons),
    }


def _named(name: str, values: Estimate, divisor: int = 1) -> dict[str, float]:
    return {
        name: values.median / divisor,
        f"{name}_low": values.low / divisor,
        f"{name}_high": values.high / divisor,
    }
