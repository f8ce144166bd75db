"""Which of two backends is better, by how much, or whether they are equal.

Speeds are compared round by round in contests, see `analysis.contests`. All else, and speeds of variants
that were in no contest, are compared by runs that are paired by seed.
"""

import math
from itertools import combinations
from typing import Any

import pandas as pd

from paragone.analysis import contests, run_states
from paragone.analysis.grouping import CONTEST, SETTING, Series, by_machine, series_of
from paragone.analysis.metrics import METRICS, OPTIONAL, Metric, named
from paragone.analysis.statistics import ALPHA, LEAST_FAMILY, Effects, holm
from paragone.config.questions import WORK, compared
from paragone.records.contest_record import ContestsRecord

# How two series of a pair relate; `PARTLY`: of several pairs some are decided, and who is best is not.
BETTER, EQUAL, UNDECIDED, NOT_COMPARED = "better", "equal", "undecided", "not compared"
PARTLY = "partly decided"
BOTH = "both"  # value of the column `tuning` where a pair differs in that alone
END_TO_END, SPEED = "end to end", "speed"
PAIR = "pair"  # the unit of what no contest compares: two runs of equal seed

COLUMNS = [
    *("metric", *WORK, "tuning", "first", "second", "unit", "n"),
    *("ratio", "effect", "low", "high", "p", "p_adjusted", "p_equal_adjusted"),
    *("needed", "between", "unit_seconds"),
    *("relation", "winner", "first_lacks", "second_lacks", "runs"),
]


def differences(
    runs: pd.DataFrame, labels: dict[str, str], rounds: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row per metric and pair of series that did the same work on the same machine.

    `rounds`: the windows of contests, from which speeds are compared. `n`: how many of `unit`, a contest or a
    pair of runs with the same seed. `effect`, `low`, `high`: by how much the first is better, with its 95 %
    interval, adjusted as p is: a ratio where `ratio`, else a difference.
    `relation`: `BETTER`, `EQUAL` within the margin, `UNDECIDED` or `NOT_COMPARED`; `winner`: the label of the
    significantly better one, also where the two are equal within the margin. `needed`: how many would decide,
    NaN if no affordable number would. `between`: the standard deviation of their effects. `unit_seconds`:
    what one took on average, if it is contests.
    `first_lacks`, `second_lacks`: why a series has no value, empty if it has.

    The p values are adjusted over the pairs of a metric on one machine, which are a family: what is best is
    asked of each machine. Labels name no machine: the column `machine` does.
    """
    parts = [
        judged(pairs, runs).assign(machine=machine)
        for machine, same in by_machine(runs)
        if (pairs := [*filter(_comparable, combinations(series_of(same, labels, rounds), 2))])
    ]
    return pd.concat(parts or [judged([], runs).assign(machine="")], ignore_index=True)


def verdicts(rounds: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """The rows on speed of `differences`, from the windows of contests alone."""
    rows = [
        row
        for _, same in by_machine(rounds)
        for row in _judged(
            named(SPEED), [*filter(_comparable, combinations(series_of(same, labels, same), 2))]
        )
    ]
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def all_decided(record: ContestsRecord) -> bool:
    """Return whether the contests held so far decide every pair that they compare.

    The variants count as in parity, which the gate proves elsewhere. Where no pair has a round in common,
    nothing is decided; one variant alone has no pair to decide.
    """
    specs = [contestant.spec for contest in record.contests for contestant in contest.contestants]
    proven = {(spec.workload.name, spec.backend.name): True for spec in specs}
    relations = {*verdicts(contests.rounds([record], "", proven), {})["relation"]}
    return relations != {NOT_COMPARED} and UNDECIDED not in relations


def judged(pairs: list[tuple[Series, Series]], runs: pd.DataFrame) -> pd.DataFrame:
    """One row per metric and pair, for the metrics that the runs have."""
    rows = [
        row
        for metric in METRICS
        if metric.name not in OPTIONAL or runs[metric.column].notna().any()
        if not metric.quality or runs["quality"].eq(metric.quality).any()
        for row in _judged(metric, pairs)
    ]
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _comparable(pair: tuple[Series, Series]) -> bool:
    """Whether two series are cells that are compared, on the same machine and edition of the data."""
    first, other = (series.runs.iloc[0] for series in pair)
    same = first[SETTING].astype(str).tolist() == other[SETTING].astype(str).tolist()
    return same and compared(first, other)


def _judged(metric: Metric, pairs: list[tuple[Series, Series]]) -> list[dict[str, Any]]:
    units = [effects_of(metric, *pair) for pair in pairs]
    tests = [Effects(values.to_numpy()) for values in units]
    family = [index for index, effects in enumerate(tests) if len(effects.values)]
    in_turn = any(values.index.name == CONTEST for values in units)
    least = LEAST_FAMILY if in_turn else 1
    differs, equals = (
        dict(zip(family, holm(p_values, least), strict=True))
        for p_values in (
            [tests[index].p_differs() for index in family],
            [tests[index].p_within(metric.limit) for index in family],
        )
    )
    undecided = sum(p > ALPHA for p in differs.values())
    rows = []
    for index, (pair, values, effects) in enumerate(zip(pairs, units, tests, strict=True)):
        turns = [one.windows for one in pair if metric.name == SPEED and one.unit == CONTEST]
        row = {
            "metric": metric.name,
            **pair[0].runs[WORK].iloc[0].to_dict(),
            "tuning": _tuning(*pair),
            "first": pair[0].label,
            "second": pair[1].label,
            "unit": CONTEST if len(turns) == 2 else PAIR,
            "n": len(values),
            "ratio": metric.by_ratio,
            "effect": metric.shown(effects.mean),
            "relation": NOT_COMPARED,
            "winner": "",
            "first_lacks": _lacks(metric, pair[0]),
            "second_lacks": _lacks(metric, pair[1]),
            "runs": " ".join(run for one in pair for run in _runs_of(one, values)),
        }
        if turns:
            held = pd.concat(turns).drop_duplicates(["run", "contest"])
            row["unit_seconds"] = held["contest_seconds"].mean()
        if index in differs:
            p, adjusted = effects.p_differs(), differs[index]
            # The level at which Holm's method tests this pair: no effect lies outside where one is better.
            level = ALPHA / (undecided or len(family)) / max(1.0, least / len(family))
            if 0 < adjusted <= ALPHA:
                level = ALPHA * p / adjusted
            row["low"], row["high"] = map(metric.shown, effects.interval(level))
            row |= {"p": p, "p_adjusted": adjusted}
            row |= {"p_equal_adjusted": equals[index], "between": values.std()}
            row["needed"] = effects.needed(metric.limit, max(len(family), least))
            row |= _verdict(row, effects)
        rows.append(row)
    return rows


def effects_of(metric: Metric, first: Series, second: Series) -> pd.Series:
    """By how much the first is better, by contest or by seed, on the scale of the effects."""
    if metric.name == SPEED and first.unit == second.unit == CONTEST:
        return contests.effects(first.windows, second.windows)
    return metric.effects(by_seed(first, metric), by_seed(second, metric))


def oriented(row: dict[str, Any], name: str) -> tuple[float, float, float]:
    """How much better `name` is than the other one of a pair, with its interval: `effect`, `low`, `high`."""
    effect, low, high = (float(row[key]) for key in ("effect", "low", "high"))
    if name == row["first"]:
        return effect, low, high
    if not row["ratio"]:
        return -effect, -high, -low
    return tuple(1 / end if end else math.inf for end in (effect, high, low))  # type: ignore[return-value]


def _tuning(first: Series, second: Series) -> str:
    names = {series.runs["tuning"].iloc[0] for series in (first, second)}
    return names.pop() if len(names) == 1 else BOTH


def _verdict(row: dict[str, Any], effects: Effects) -> dict[str, str]:
    differs, equal = row["p_adjusted"] <= ALPHA, row["p_equal_adjusted"] <= ALPHA
    better = row["first"] if effects.mean > 0 else row["second"]
    relation = EQUAL if equal else BETTER if differs else UNDECIDED
    return {"relation": relation, "winner": better if differs else ""}


def by_seed(series: Series, metric: Metric) -> pd.Series:
    """The values that count of a series, by seed."""
    runs = (series.runs if metric.by_all else series.measured).set_index("seed")
    values = runs[metric.column]
    return values[[]] if metric.by_all and values.isna().any() else values.dropna()


def _runs_of(series: Series, effects: pd.Series) -> list[str]:
    """The runs that effects come from: of these seeds, or all where contests were held."""
    runs = series.measured
    if effects.index.name != CONTEST:
        runs = runs[runs["seed"].isin(effects.index)]
    return runs["run"].unique().tolist()


def _lacks(metric: Metric, series: Series) -> str:
    """Why a series has no value of a metric; empty if it has."""
    if metric.name == SPEED and series.unit == CONTEST:
        return "" if len(series.speeds) else "; ".join(run_states.not_timed(series))
    if len(by_seed(series, metric)):
        return ""
    states = run_states.no_speed if metric.speed else run_states.not_completed
    return "; ".join(states(series.runs)) or f"not each run has a {metric.name}"


def contenders(rows: pd.DataFrame) -> list[str]:
    """Who may be the best of compared pairs: not shown worse, or equal to one of these and worse than none.

    Multiple comparisons with the best: every pair was tested, adjusted together, so with probability 95 %
    the best is among those not shown worse. rows: of one metric and the same work.
    """
    pairs = rows.to_dict("records")
    names = dict.fromkeys(name for row in pairs for name in (row["first"], row["second"]))
    ahead = {*names} - {loser(row) for row in pairs if row["winner"]}
    lost = {loser(row) for row in pairs if row["relation"] == BETTER}
    near = {
        name
        for row in pairs
        if row["relation"] == EQUAL and ahead & {row["first"], row["second"]}
        for name in (row["first"], row["second"])
    }
    return [name for name in names if name in ahead or name in near - lost]


def loser(row: dict[str, Any]) -> str:
    """The other one of a decided pair."""
    return str(row["second"] if row["winner"] == row["first"] else row["first"])


def overall(rows: pd.DataFrame) -> str:
    """The relation of all pairs of one metric and the same work together."""
    known = rows[rows["relation"] != NOT_COMPARED]
    relations = set(known["relation"])
    if BETTER in relations:
        among = known[known[["first", "second"]].isin(contenders(known)).all(axis=1)]
        is_open = (among["relation"] == UNDECIDED).any()
        return PARTLY if is_open and rows["tuning"].iloc[0] != BOTH else BETTER
    if relations <= {UNDECIDED}:
        return UNDECIDED if relations else NOT_COMPARED
    return PARTLY if UNDECIDED in relations else EQUAL


def examples_of(runs: pd.DataFrame) -> float | None:
    """Examples that each of these runs trains on, epochs counted; None if they differ."""
    lengths = (runs["planned_epochs"] * runs["planned_epoch_examples"]).dropna().unique()
    return float(lengths[0]) if len(lengths) == 1 else None


def lengths(rows: pd.DataFrame, runs: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Seconds of training by its length: of none, and of each example more, by variant.

    Empty where the runs have no speeds, or those of a variant differ in length. By medians: training on N
    examples takes a + N / v seconds, v the steady speed, and a what a run took beyond its own examples at v.

    rows: of the table `differences`, on end to end, of the same work; runs: the table of its runs.
    """
    lines = {}
    for row in rows.to_dict("records"):
        names = row["runs"].split()  # of the first, then as many of the second
        for label, own in ((row["first"], names[: row["n"]]), (row["second"], names[row["n"] :])):
            part = runs[runs["run"].isin(own)]
            step = 1 / part["steady_examples_per_second"].median()
            if (done := examples_of(part)) is not None and pd.notna(step):
                lines[label] = part["end_to_end_seconds"].median() - done * step, step
    return lines


def quickest(lines: dict[str, tuple[float, float]]) -> list[tuple[str, float]]:
    """Who is quickest from start to end of short training, and who of longer, from `lengths`.

    Names, each with the examples from which on it is, 0 of the first; empty without lines.
    """
    if not lines:
        return []
    found = [(min(lines, key=lines.__getitem__), 0.0)]
    while True:
        start, step = lines[found[-1][0]]
        later = [
            ((other - start) / (step - faster), label)
            for label, (other, faster) in lines.items()
            if faster < step
        ]
        if not later:
            return found
        examples, label = min(later)
        found.append((label, float(f"{examples:.2g}")))
