"""From the records of contests to the ratio of two variants' speeds, with contests as the unit.

Rounds within a contest share processes, memory layout and a stretch of the machine's time; contests do not.
So the effect of a contest is one value, the median over its rounds of the log ratio of two speeds, and
intervals and tests count contests (Kalibera and Jones, "Rigorous benchmarking in reasonable time", 2013).
"""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy

from paragone.analysis.columns import FLAG, RUN_COLUMNS, columns_of_process, of_others, typed
from paragone.analysis.grouping import Series, by_machine, series_of
from paragone.analysis.metrics import METRICS
from paragone.analysis.statistics import ALPHA, holm
from paragone.records.compliance import broken_at, of_contests
from paragone.records.contest_record import ContestsRecord, Window
from paragone.records.parity_reports import Parity
from paragone.records.rules import REMARK, Finding, table

SPEED = next(metric for metric in METRICS if metric.name == "speed")

# Columns that a window shares with the runs, so that both are grouped and labelled alike.
_SHARED = (
    "run experiment workload dataset precision tuning backend device replicas workers global_batch seed "
    "status reason parity violations data_source data_edition machine machine_name machines "
    "other_cpu_share busy"
)
COLUMNS = {
    **{name: RUN_COLUMNS[name] for name in _SHARED.split()},
    **typed(
        ("Int64", "contest round place steps"),
        ("float64", "seconds examples_per_second sleeping_share"),
        (FLAG, "together"),
    ),
}
EFFECTS = ["workload", "global_batch", "machine", "first", "second", "contest", "rounds", "effect"]


def rounds(records: Iterable[ContestsRecord], experiment: str, parity: Parity) -> pd.DataFrame:
    """One row per window; a variant without one, because it failed or was not in parity, has one row.

    `parity`: by workload and backend. A variant that has not passed the gate, or failed its first steps, has
    no speed; nor has one, or a window, that breaks a measurement rule which is more than a remark.
    """
    rows = [
        row
        for record in records
        for broken in [[*of_contests(record)]]
        for number, contest in enumerate(record.contests, start=1)
        for index in range(len(contest.contestants))
        for row in _rows(record, number, index, experiment, parity, broken)
    ]
    made = pd.DataFrame(rows).reindex(columns=[*COLUMNS]).astype(COLUMNS)
    return made.sort_values(["run", "contest", "round", "place"], ignore_index=True, kind="stable")


def _rows(
    record: ContestsRecord,
    number: int,
    index: int,
    experiment: str,
    parity: Parity,
    broken: list[tuple[str, Finding]],
) -> Iterator[dict[str, Any]]:
    contest = record.contests[number - 1]
    contestant = contest.contestants[index]
    spec = contestant.spec
    proven = parity.get((spec.workload.name, spec.backend.name))
    if contestant.first_steps is not None and contestant.first_steps.passed is False:
        proven = False
    process = next(iter(contestant.processes), None)
    shared = {
        "contest": number,
        "run": record.question,
        "experiment": experiment,
        "workload": spec.workload.name,
        "dataset": record.data.dataset,
        "precision": spec.precision,
        "tuning": spec.tuning_name,
        "backend": spec.backend.name,
        "device": spec.backend.device,
        "replicas": spec.replicas,
        "workers": spec.workers,
        "global_batch": spec.global_batch,
        "seed": spec.seed,
        "status": contestant.status,
        "reason": contestant.reason,
        "parity": {True: "passed", False: "failed", None: "not checked"}[proven],
        "data_source": record.data.source,
        "data_edition": record.data.edition,
        "machines": 1,
        "together": contest.together,
    }
    if process:
        columns = columns_of_process(process)
        shared |= {name: columns[name] for name in ("machine", "machine_name")}
    own = [
        (place, window)
        for place, window in enumerate(contest.windows)
        if window.contestant == index
    ]
    where = f"contests[{number - 1}]"
    places = [f"{where}.contestants[{index}]", f"{where}.seconds"]
    if not own:
        yield shared | {"violations": " ".join(broken_at(broken, *places))}
    for place, window in own:
        rules = broken_at(broken, *places, f"{where}.windows[{place}]")
        counts = proven is True and all(table()[rule].severity == REMARK for rule in rules)
        row = _of_window(window, place, spec.global_batch, counts)
        yield shared | row | {"violations": " ".join(rules)}


def _of_window(window: Window, place: int, batch: int, counts: bool) -> dict[str, Any]:
    host = window.host
    lost = max(0.0, host.busy - window.working - window.sleeping) + host.stolen
    total = host.busy + host.idle + host.stolen
    return {
        "round": window.round,
        "place": place,
        "steps": window.steps,
        "seconds": window.seconds,
        "examples_per_second": window.steps * batch / window.seconds if counts else None,
        "sleeping_share": window.sleeping / window.seconds,
        **of_others([lost / total if total else None]),
    }


def effects(table: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """One row per pair of variants and contest: the median over rounds of log(first / second speed)."""
    found = []
    for machine, same in by_machine(table):
        for first, second in combinations(series_of(same, labels), 2):
            about = first.runs.iloc[0]
            if (first.workload, first.global_batch) != (second.workload, second.global_batch):
                continue
            speeds = [_by_round(series) for series in (first, second)]
            ratios = np.log(speeds[0] / speeds[1]).dropna()
            for contest, logs in ratios.groupby(level="contest"):
                found.append(
                    {
                        "workload": about["workload"],
                        "global_batch": about["global_batch"],
                        "machine": machine,
                        "first": first.label,
                        "second": second.label,
                        "contest": contest,
                        "rounds": len(logs),
                        "effect": float(logs.median()),
                    }
                )
    return pd.DataFrame(found, columns=EFFECTS)


def _by_round(series: Series) -> pd.Series:
    return series.runs.dropna(subset="examples_per_second").set_index(["contest", "round"])[
        "examples_per_second"
    ]


def pairs(found: pd.DataFrame) -> pd.DataFrame:
    """One row per pair of variants: the ratio of their speeds, its interval, and whether it is decided.

    `contests`: their number. `ratio`, `low`, `high`: first over second speed, and its 95 % t interval over
    contests; `p_adjusted`: of "no difference", `p_equal_adjusted`: of "the margin or more apart", both by t
    tests, adjusted over the pairs of a question on one machine (Holm). `relation`: faster, slower, equal
    (within the margin) or undecided.
    """
    rows = []
    family = ["workload", "global_batch", "machine"]
    for _, question in found.groupby(family, sort=False):
        part = [
            _pair(values) | dict(zip(EFFECTS[:5], keys, strict=True))
            for keys, values in question.groupby(EFFECTS[:5], sort=False)
        ]
        for name in ("p", "p_equal"):
            for row, adjusted in zip(part, holm([row[name] for row in part]), strict=True):
                row[f"{name}_adjusted"] = adjusted
        rows += [row | {"relation": _relation(row)} for row in part]
    columns = [*EFFECTS[:5], "contests", "rounds", "ratio", "low", "high", "between"]
    columns += ["p_adjusted", "p_equal_adjusted", "relation"]
    return pd.DataFrame(rows).reindex(columns=columns)


def _pair(values: pd.DataFrame) -> dict[str, Any]:
    logs, n = values["effect"].to_numpy(), len(values)
    mean = float(logs.mean())
    row: dict[str, Any] = {
        "contests": n,
        "rounds": int(values["rounds"].sum()),
        "ratio": math.exp(mean),
        "low": math.nan,
        "high": math.nan,
        "between": math.nan,
        "p": 1.0,
        "p_equal": 1.0,
    }
    if n < 2:
        return row
    deviation = float(logs.std(ddof=1))
    error = max(deviation, 1e-9) / math.sqrt(n)
    student = scipy.stats.t(n - 1)
    half = student.ppf(1 - ALPHA / 2) * error
    margin = SPEED.limit
    return row | {
        "low": math.exp(mean - half),
        "high": math.exp(mean + half),
        "between": deviation,
        "p": float(2 * student.sf(abs(mean) / error)),
        "p_equal": float(
            max(student.sf((margin - mean) / error), student.sf((margin + mean) / error))
        ),
    }


def _relation(row: dict[str, Any]) -> str:
    if row["p_equal_adjusted"] <= ALPHA:
        return "equal"
    if row["p_adjusted"] <= ALPHA:
        return "faster" if row["ratio"] > 1 else "slower"
    return "undecided"
