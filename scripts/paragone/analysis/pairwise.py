"""Tests of which of two backends is faster or more accurate, paired by seed."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from paragone.analysis import run_states
from paragone.analysis.grouping import Series, series_of
from paragone.analysis.statistics import CONFIDENCE, holm, paired_p, pairs_needed, summarize

NOT_SHOWN, NOT_COMPARED = "no difference shown", "not compared"
# Columns that must be equal for two series to be compared: the work and the machine.
_SHARED = ["workload", "global_batch", "data_source", "data_edition", "machine"]


@dataclass(frozen=True)
class Metric:
    """A compared column of the runs, more of it is `better`; by ratio or by difference."""

    name: str
    column: str
    better: str
    by_ratio: bool

    def effects(self, first: pd.Series, second: pd.Series) -> pd.Series:
        """First over, or minus, second, by seed; without the seeds that only one of them has."""
        found = first / second if self.by_ratio else first - second
        return found.dropna()

    def p(self, effects: pd.Series) -> float:
        """p value of no effect; ratios on the log scale, where twice and half have equal weight."""
        return paired_p(np.log(effects) if self.by_ratio else effects)


METRICS = (
    Metric("steady examples/s", "steady_examples_per_second", "faster", by_ratio=True),
    Metric("test accuracy", "final_test_accuracy", "more accurate", by_ratio=False),
)
COLUMNS = ["metric", "workload", "global_batch", "first", "second", "n", "first_median"]
COLUMNS += ["second_median", "effect", "median", "low", "high", "p", "p_adjusted", "verdict"]
COLUMNS += ["why", "runs"]


def differences(runs: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """One row per metric and pair of series that did the same work on the same machine.

    `n` pairs of equal seeds; `median`, `low`, `high` of the effect over them; `verdict`: which is better,
    that no difference was shown, or that they could not be compared, and `why`.
    """
    rows = [
        _row(metric, first, second)
        for metric in METRICS
        for first, second in combinations(series_of(runs, labels), 2)
        if _shared(first) == _shared(second)
    ]
    for metric in METRICS:
        _judge([row for row in rows if row["metric"] == metric.name and row["n"]], metric)
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _row(metric: Metric, first: Series, second: Series) -> dict:
    values = [_by_seed(one, metric) for one in (first, second)]
    effects = metric.effects(*values)
    paired = [
        one.measured.loc[one.measured["seed"].isin(effects.index), "run"] for one in (first, second)
    ]
    return {
        "metric": metric.name,
        **first.runs[["workload", "global_batch"]].iloc[0].to_dict(),
        "first": first.label,
        "second": second.label,
        "first_median": summarize(values[0].reindex(effects.index)).median,
        "second_median": summarize(values[1].reindex(effects.index)).median,
        "effect": "ratio" if metric.by_ratio else "difference",
        **vars(summarize(effects)),
        "p": metric.p(effects) if len(effects) else np.nan,
        "verdict": NOT_COMPARED,
        "why": _lacking(metric, (first, second), values) if effects.empty else "",
        "runs": " ".join(run for part in paired for run in part),
    }


def _judge(rows: list[dict], metric: Metric) -> None:
    """Write adjusted p values and verdicts into the rows of one metric that have pairs."""
    needed = pairs_needed(max(len(rows), 1))
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row |= {"p_adjusted": adjusted, "verdict": NOT_SHOWN}
        if adjusted <= 1 - CONFIDENCE:
            ahead = row["median"] > (1 if metric.by_ratio else 0)
            row["verdict"] = f"{row['first'] if ahead else row['second']} is {metric.better}"
        elif row["n"] < needed:
            row["why"] = f"too few repeats to show a difference: {row['n']}, it takes {needed}"


def _by_seed(one: Series, metric: Metric) -> pd.Series:
    return one.measured.set_index("seed")[metric.column].dropna()


def _shared(one: Series) -> tuple[str, ...]:
    return tuple(str(value) for value in one.runs[_SHARED].iloc[0])


def _lacking(metric: Metric, pair: tuple[Series, Series], values: list[pd.Series]) -> str:
    """Why there is no pair: the statuses of the runs of each series without a value."""
    words = run_states.no_speed if metric.by_ratio else run_states.not_completed
    reasons = [
        f"{one.label}: {'; '.join(words(one.runs))}"
        for one, found in zip(pair, values, strict=True)
        if found.empty
    ]
    return ", ".join(reasons) or "no seed ran both"
