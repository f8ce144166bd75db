"""Which of two backends is better, by how much, or whether they are equal: tests of runs paired by seed."""

from itertools import combinations

import pandas as pd

from paragone.analysis import run_states
from paragone.analysis.grouping import Series, series_of
from paragone.analysis.metrics import METRICS, OPTIONAL, Metric, margin_words
from paragone.analysis.paired import ALPHA, Effects
from paragone.analysis.power import pairs_that_decide
from paragone.analysis.statistics import holm
from paragone.config.questions import compared

UNDECIDED, NOT_COMPARED = "undecided", "not compared"
# Columns that must be equal for two series to be compared, besides those of `config.questions.compared`.
SHARED = ["data_source", "data_edition", "machine"]
TUNING = "tuning"  # the division of a pair that differs in that alone


COLUMNS = [
    "metric",
    "workload",
    "global_batch",
    "division",
    "first",
    "second",
    "n",
    "ratio",
    "effect",
    "low",
]
COLUMNS += ["high", "p", "p_adjusted", "p_equal_adjusted", "needed", "verdict", "why", "runs"]


def differences(
    runs: pd.DataFrame,
    labels: dict[str, str],
    looks: int = 1,
) -> pd.DataFrame:
    """One row per metric and pair of series that did the same work on the same machine.

    `n` pairs of equal seeds; `effect`, `low`, `high`: by how much the first is better, with its 95 %
    interval: a ratio where `ratio`, else a difference. `verdict`: which is better, that they are equal
    within the margin, or undecided, and `why`; `needed`: the pairs that would decide; `machine`: on which.
    The p values are adjusted over the pairs of a metric on one machine, which are a family: what is best is
    asked of each machine; they and the intervals count the `looks` at the runs.
    """
    runs = with_energy(runs)
    families: dict[str, list[tuple[Series, Series]]] = {}
    for first, second in combinations(series_of(runs, labels), 2):
        if comparable(first, second):
            families.setdefault(str(first.runs["machine"].iloc[0]), []).append((first, second))
    found = [judged(pairs, runs, looks).assign(machine=name) for name, pairs in families.items()]
    return pd.concat(found or [judged([], runs, looks).assign(machine="")], ignore_index=True)


def with_energy(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with the energy of an example in joules, of CPU and accelerators together.

    Per example, because speed windows take the same time and do different amounts of work.
    """
    joules = runs[["steady_cpu_joules", "steady_accelerator_joules"]].sum(axis=1, min_count=1)
    examples = (runs["steady_steps"] * runs["global_batch"]).astype("float64")
    return runs.assign(joules_per_example=joules / examples)


def judged(pairs: list[tuple[Series, Series]], runs: pd.DataFrame, looks: int) -> pd.DataFrame:
    """One row per metric and pair, for the metrics that the runs have."""
    rows = [
        row
        for metric in METRICS
        if metric.name not in OPTIONAL or runs[metric.column].notna().any()
        for row in _judged(metric, pairs, looks)
    ]
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def comparable(first: Series, second: Series) -> bool:
    """Whether two series are cells that are compared, on the same machine and edition of the data."""
    one, other = (series.runs.iloc[0] for series in (first, second))
    same = one[SHARED].astype(str).tolist() == other[SHARED].astype(str).tolist()
    return same and compared(one, other)


def _judged(metric: Metric, pairs: list[tuple[Series, Series]], looks: int) -> list[dict]:
    values = [[by_seed(one, metric) for one in pair] for pair in pairs]
    paired = [metric.effects(*both) for both in values]
    effects = [Effects(one.to_numpy()) for one in paired]
    family = [index for index, found in enumerate(effects) if len(found.values)]
    differs = _adjusted({i: effects[i].p_differs() for i in family}, looks)
    equals = _adjusted({i: effects[i].p_within(metric.limit) for i in family}, looks)
    rows = []
    for index, (pair, both, found) in enumerate(zip(pairs, values, effects, strict=True)):
        row = {
            "metric": metric.name,
            **pair[0].runs[["workload", "global_batch"]].iloc[0].to_dict(),
            "division": _division(*pair),
            "first": pair[0].label,
            "second": pair[1].label,
            "n": len(found.values),
            "ratio": metric.by_ratio,
            "effect": metric.shown(found.mean),
            "verdict": NOT_COMPARED,
            "why": _lacking(metric, pair, both),
            "runs": " ".join(run for one in pair for run in _runs_of(one, paired[index].index)),
        }
        if index in differs:
            row["low"], row["high"] = map(metric.shown, found.interval(ALPHA / looks))
            row |= {"p": found.p_differs(), "p_adjusted": differs[index]}
            row |= {"p_equal_adjusted": equals[index]}
            row |= _verdict(metric, row, found, len(family) * looks)
        rows.append(row)
    return rows


def _division(first: Series, second: Series) -> str:
    names = {one.runs["division"].iloc[0] for one in (first, second)}
    return names.pop() if len(names) == 1 else TUNING


def _adjusted(p_values: dict[int, float], looks: int) -> dict[int, float]:
    found = holm([*p_values.values()])
    return {index: min(1.0, looks * p) for index, p in zip(p_values, found, strict=True)}


def _verdict(metric: Metric, row: dict, found: Effects, comparisons: int) -> dict:
    needed = pairs_that_decide(found.values, metric.limit, comparisons)
    better = row["first"] if found.mean > 0 else row["second"]
    differs = row["p_adjusted"] <= ALPHA
    if row["p_equal_adjusted"] <= ALPHA:
        why = f"{better} is {metric.words}, within the margin" if differs else ""
        return {"needed": needed, "verdict": f"equal within {margin_words(metric)}", "why": why}
    if differs:
        return {"needed": needed, "verdict": f"{better} is {metric.words}", "why": ""}
    return {
        "needed": needed,
        "verdict": UNDECIDED,
        "why": _what_it_takes(row["n"], needed, abs(found.mean) < metric.limit),
    }


def _what_it_takes(n: int, needed: int | None, within: bool) -> str:
    if n < 2:
        return f"one pair has no variance: at least {needed} are needed"
    if needed is None:
        return "the runs vary so much that no affordable number of pairs decides"
    if needed > n:
        return f"{needed - n} more pair{'s are' if needed - n > 1 else ' is'} needed"
    return (
        f"{'the effect lies between none and the margin: ' if within else ''}more pairs may decide"
    )


def by_seed(one: Series, metric: Metric) -> pd.Series:
    """The values that count of a series, by seed."""
    runs = (one.runs if metric.by_all else one.measured).set_index("seed")
    values = runs[metric.column]
    if metric.needs:
        values = values.where(runs[metric.needs].fillna(False).astype(bool))
    return values[[]] if metric.by_all and values.isna().any() else values.dropna()


def _runs_of(one: Series, seeds: pd.Index) -> list[str]:
    return one.measured.loc[one.measured["seed"].isin(seeds), "run"].tolist()


def _lacking(metric: Metric, pair: tuple[Series, Series], values: list[pd.Series]) -> str:
    """Why there is no pair: the statuses of the runs of each series without a value."""
    words = run_states.no_speed if metric.speed else run_states.not_completed
    reasons = [
        f"{one.label}: {'; '.join(words(one.runs)) or _missing(metric, one)}"
        for one, found in zip(pair, values, strict=True)
        if found.empty
    ]
    return ", ".join(reasons) or "no seed ran both"


def _missing(metric: Metric, one: Series) -> str:
    if metric.needs and one.measured[metric.column].notna().any():
        return "speed window too short"
    return f"not each run has a {metric.name}"


def best(rows: pd.DataFrame) -> list[str]:
    """Of one metric and the same work: who is not shown worse than any other, in the rows' order.

    Multiple comparisons with the best: every pair was tested, adjusted together, so with probability 95 %
    the best of those that were compared is among them.
    """
    rows = rows[rows["p_adjusted"].notna()]
    names = list(dict.fromkeys([*rows["first"], *rows["second"]]))
    worse = set()
    for row in rows.to_dict("records"):
        if row["p_adjusted"] <= ALPHA:
            ahead = row["effect"] > (1 if row["ratio"] else 0)
            worse.add(row["second"] if ahead else row["first"])
    return [name for name in names if name not in worse]
