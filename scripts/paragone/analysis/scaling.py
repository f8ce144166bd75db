"""Measured scaling: the cells of an experiment, and the gain of each over one replica."""

from dataclasses import dataclass

import pandas as pd

from paragone.analysis import run_states
from paragone.analysis.grouping import Series, series_of, shares_cores, sweeps_of
from paragone.analysis.statistics import summarize
from paragone.base.errors import UserError
from paragone.config.measurement_plans import STRONG, kind

SHARED = (
    "Replicas here are virtual: they share the cores of one machine, so the ideal speed-up is 1 and the "
    "ideal efficiency 1/n; higher values come from idle cores or larger batches."
)


@dataclass(frozen=True)
class Point:
    """One cell of a backend: seconds per step by seed; speed-up over one replica, paired by seed."""

    label: str
    backend: str
    machine: str
    replicas: int
    global_batch: int
    per_replica_batch: int
    shared: bool
    step_seconds: pd.Series
    speed_up: pd.Series
    names: pd.Series  # of the runs, by seed
    words: list[str]


def scaling_kind(runs: pd.DataFrame) -> str:
    """`strong` or `weak`. Raises `UserError` when the runs of the experiment scale neither way."""
    found = kind(zip(runs["global_batch"], runs["global_batch"] // runs["replicas"], strict=True))
    if found is None:
        raise UserError("these runs have neither one global batch nor one batch per replica")
    return found


def fixed_batch(runs: pd.DataFrame) -> int:
    """The batch that stays fixed: global in strong scaling, per replica in weak scaling."""
    first = runs.iloc[0]
    return int(first["global_batch"]) // (1 if scaling_kind(runs) == STRONG else first["replicas"])


def points_of(runs: pd.DataFrame, labels: dict[str, str]) -> list[Point]:
    """The cells of every backend and machine, by replicas; speed-up is the ratio of throughputs."""
    found = []
    for sweep in sweeps_of(runs, labels):
        cells = sorted(series_of(sweep.runs, labels), key=_replicas)
        single = [one for one in cells if _replicas(one) == 1]
        base = _speeds(single[0]) if single else pd.Series(dtype="float64")
        name = labels.get(sweep.backend, sweep.backend) if len(cells) == 1 else sweep.label
        shared = shares_cores(sweep.runs)
        found += [_point(name, one, base, shared) for one in cells]
    return found


def _point(label: str, one: Series, base: pd.Series, shared: bool) -> Point:
    speeds, batch = _speeds(one), int(one.runs["global_batch"].iloc[0])
    words = run_states.no_speed(one.runs)
    gain = (speeds / base).dropna()
    if len(speeds) and gain.empty:
        words = [*words, "no run of one replica with its seed"]
    return Point(
        label,
        one.backend,
        str(one.runs["machine"].iloc[0]),
        _replicas(one),
        batch,
        batch // _replicas(one),
        shared,
        batch / speeds,
        gain,
        one.measured.set_index("seed")["run"],
        words,
    )


def _replicas(one: Series) -> int:
    return int(one.runs["replicas"].iloc[0])


def _speeds(one: Series) -> pd.Series:
    """Steady examples/s of the completed runs, by seed."""
    return one.measured.set_index("seed")["steady_examples_per_second"].dropna()


def table_of(points: list[Point]) -> pd.DataFrame:
    """One row per cell: step time, speed-up and efficiency (speed-up over replicas), with intervals.

    `ideal`: the speed-up that the devices allow, 1 on shared cores, n with one device per replica.
    """
    rows = []
    for point in points:
        step, gain = summarize(point.step_seconds), summarize(point.speed_up)
        each = gain.median / point.replicas, gain.low / point.replicas, gain.high / point.replicas
        rows.append(
            {
                "series": point.label,
                "backend": point.backend,
                "replicas": point.replicas,
                "global_batch": point.global_batch,
                "per_replica_batch": point.per_replica_batch,
                "devices": "shared cores" if point.shared else "a device each",
                "ideal": 1 if point.shared else point.replicas,
                "n": step.n,
                **_named("step_seconds", (step.median, step.low, step.high)),
                "pairs": gain.n,
                **_named("speed_up", (gain.median, gain.low, gain.high)),
                **_named("efficiency", each),
                "runs": " ".join(sorted(point.names)),
                "words": "; ".join(point.words),
            }
        )
    return pd.DataFrame(rows)


def _named(name: str, values: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))
