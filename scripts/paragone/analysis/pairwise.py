"""Which of two backends is better, by how much, or whether they are equal.

Speeds are compared round by round in contests, see `analysis.contests`. All else, and speeds of variants
that were in no contest, are compared by runs that are paired by seed.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from paragone import tasks
from paragone.analysis import contests, grouping
from paragone.analysis.grouping import CONTEST, SETTING, Series, by_machine, series_of
from paragone.analysis.statistics import Effects, decide
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
    *("needed", "unit_seconds"),
    *("relation", "winner", "first_lacks", "second_lacks", "runs"),
]


@dataclass(frozen=True)
class Criterion:
    """A column of the runs by which backends are compared.

    `comparative`: what the better one is, in words; `saves`: what it needs less of, where a share says more
    than a multiple. `margin`: smaller effects do not matter to a user: a ratio above 1 where `by_ratio`, else
    a difference. `speed`: values of runs without proven parity are missing. `by_all`: a series is compared
    only if each of its runs has a value, since a run that missed the target or ended before is no fast one.
    `quality`: a metric of `tasks.METRICS`, compared in runs whose task has it as its quality.
    """

    name: str
    column: str
    comparative: str
    margin: float
    more_is_better: bool = False
    by_ratio: bool = True
    speed: bool = True
    by_all: bool = False
    saves: str = ""
    quality: str = ""

    @property
    def limit(self) -> float:
        """Return the margin on the scale of the effects."""
        return math.log(self.margin) if self.by_ratio else self.margin

    def effects(self, first: pd.Series, second: pd.Series) -> pd.Series:
        """Return by how much the first is better: the log of a ratio, or a difference, by seeds of both."""
        first, second = (values.astype("float64") for values in (first, second))
        gains = np.log(first / second) if self.by_ratio else first - second
        return (gains if self.more_is_better else -gains).dropna()

    def shown(self, effect: float) -> float:
        """Return an effect as a ratio, or a difference."""
        return math.exp(effect) if self.by_ratio else effect


def _of_quality(name: str, comparative: str, margin: float) -> Criterion:
    """Return the criterion of a metric on the test split: differences of what is at most 1, else ratios."""
    kind = tasks.METRICS[name]
    return Criterion(
        f"test {kind.label}",
        f"final_test_{name}",
        comparative,
        margin,
        more_is_better=kind.more_is_better,
        by_ratio=not kind.more_is_better,
        speed=False,
        quality=name,
    )


_CRITERIA = (
    Criterion("speed", "steady_examples_per_second", "faster", 1.05, more_is_better=True),
    Criterion("end to end", "end_to_end_seconds", "quicker from start to end", 1.05),
    Criterion(
        "time to target", "target_first_hit_seconds", "quicker to the target", 1.1, by_all=True
    ),
    _of_quality("accuracy", "more accurate", 0.01),
    _of_quality("top5_accuracy", "higher in top-5 accuracy", 0.01),
    _of_quality("f1", "higher in micro F1", 0.01),
    _of_quality("r2", "higher in R²", 0.01),
    _of_quality("mae", "lower in mean absolute error", 1.02),
    _of_quality("perplexity", "lower in perplexity", 1.02),
    _of_quality("loss", "lower in loss", 1.02),
    Criterion(
        "peak memory", "peak_host_bytes", "smaller in memory", 1.1, speed=False, saves="memory"
    ),
    Criterion("energy", "joules_per_example", "lower in energy", 1.05, saves="energy"),
)
CRITERIA = {metric.name: metric for metric in _CRITERIA}
# Left out where no run has them: no target was asked for, or nothing counts energy.
OPTIONAL = {"time to target", "energy"}


def margin_words(metric: Criterion) -> str:
    """Return the margin as text."""
    return f"{100 * (metric.margin - 1):.0f} %" if metric.by_ratio else f"{metric.margin:g}"


def differences(
    runs: pd.DataFrame, labels: dict[str, str], rounds: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return one row per criterion and pair of series that did the same work on the same machine.

    `rounds`: the windows of contests, from which speeds are compared. Columns: `n` counts the `unit`s,
    contests or pairs of runs with the same seed. `effect`, `low` and `high` say by how much the first is
    better, with the 95 % interval, adjusted as p is: a ratio where `ratio`, else a difference. `relation` is
    `BETTER`, `EQUAL` within the margin, `UNDECIDED` or `NOT_COMPARED`; `winner` is the label of the
    significantly better one, also where the two are equal within the margin. `needed` units would decide, NaN
    if no affordable number would; a contest took `unit_seconds` on average. `first_lacks` and `second_lacks`
    say why a series has no value.

    The p values are adjusted over the pairs of a criterion on one machine, which are a family. Labels name no
    machine: the column `machine` does.
    """
    metrics = [
        metric
        for metric in CRITERIA.values()
        if metric.name not in OPTIONAL or runs[metric.column].notna().any()
        if not metric.quality or runs["quality"].eq(metric.quality).any()
    ]
    rows = [
        row | {"machine": machine}
        for machine, part in by_machine(runs)
        for pairs in [_pairs(part, labels, rounds)]
        for metric in metrics
        for row in _judged(metric, pairs)
    ]
    return pd.DataFrame(rows).reindex(columns=[*COLUMNS, "machine"])


def verdicts(rounds: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """Return the rows on speed of `differences`, from the windows of contests alone."""
    parts = [part for _, part in by_machine(rounds)]
    rows = [row for part in parts for row in _judged(CRITERIA[SPEED], _pairs(part, labels, part))]
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


def _pairs(
    runs: pd.DataFrame, labels: dict[str, str], rounds: pd.DataFrame | None
) -> list[tuple[Series, Series]]:
    """Return the pairs of series whose cells are compared, of one edition of the data."""
    return [
        (first, second)
        for first, second in combinations(series_of(runs, labels, rounds), 2)
        for run, other in [(first.runs.iloc[0], second.runs.iloc[0])]
        if run[SETTING].astype(str).equals(other[SETTING].astype(str)) and compared(run, other)
    ]


def _judged(metric: Criterion, pairs: list[tuple[Series, Series]]) -> list[dict[str, Any]]:
    """Return the rows of one criterion, whose pairs are a family."""
    units = [effects_of(metric, *pair) for pair in pairs]
    tests = [Effects(values.to_numpy()) for values in units]
    family = [index for index, effects in enumerate(tests) if len(effects.values)]
    in_turn = any(values.index.name == CONTEST for values in units)
    decisions = decide([tests[index] for index in family], metric.limit, in_turn=in_turn)
    decided = dict(zip(family, decisions, strict=True))
    rows = []
    for index, (pair, values, effects) in enumerate(zip(pairs, units, tests, strict=True)):
        tunings = {series.runs["tuning"].iloc[0] for series in pair}
        timed = [series for series in pair if metric.name == SPEED and series.unit == CONTEST]
        row = {
            "metric": metric.name,
            **pair[0].runs[WORK].iloc[0].to_dict(),
            "tuning": tunings.pop() if len(tunings) == 1 else BOTH,
            "first": pair[0].label,
            "second": pair[1].label,
            "unit": CONTEST if len(timed) == 2 else PAIR,
            "n": len(values),
            "ratio": metric.by_ratio,
            "effect": metric.shown(effects.median),
            "relation": NOT_COMPARED,
            "winner": "",
            "first_lacks": _lacks(metric, pair[0]),
            "second_lacks": _lacks(metric, pair[1]),
            "runs": " ".join(run for series in pair for run in _runs_of(series, values)),
        }
        if timed:
            windows = pd.concat([series.windows for series in timed])
            once = windows.drop_duplicates(["run", "contest"])
            row["unit_seconds"] = once["contest_seconds"].mean()
        if decision := decided.get(index):
            row["low"], row["high"] = map(metric.shown, effects.interval(decision.level))
            row["p"], row["p_adjusted"] = effects.p_differs(), decision.p_differs
            row["p_equal_adjusted"] = decision.p_equal
            row["needed"] = effects.needed(metric.limit, *decision.tests)
            row["relation"] = EQUAL if decision.is_equal else UNDECIDED
            if decision.differs:
                row["winner"] = row["first"] if effects.mean > 0 else row["second"]
                row["relation"] = EQUAL if decision.is_equal else BETTER
        rows.append(row)
    return rows


def effects_of(metric: Criterion, first: Series, second: Series) -> pd.Series:
    """Return by how much the first is better, by contest or by seed, on the scale of the effects."""
    if metric.name == SPEED and first.unit == second.unit == CONTEST:
        return contests.effects(first.windows, second.windows)
    return metric.effects(by_seed(first, metric), by_seed(second, metric))


def oriented(row: dict[str, Any], name: str) -> tuple[float, float, float]:
    """Return how much better `name` is than the other one of a pair, and the ends of the interval."""
    effect, low, high = (float(row[key]) for key in ("effect", "low", "high"))
    if name == row["first"]:
        return effect, low, high
    if not row["ratio"]:
        return -effect, -high, -low
    return tuple(1 / end if end else math.inf for end in (effect, high, low))  # type: ignore[return-value]


def by_seed(series: Series, metric: Criterion) -> pd.Series:
    """Return the values of a series that count, by seed."""
    runs = (series.runs if metric.by_all else series.measured).set_index("seed")
    values = runs[metric.column]
    return values[[]] if metric.by_all and values.isna().any() else values.dropna()


def _runs_of(series: Series, effects: pd.Series) -> list[str]:
    """Return the runs that effects come from: those of their seeds, or all where contests were held."""
    runs = series.measured
    if effects.index.name != CONTEST:
        runs = runs[runs["seed"].isin(effects.index)]
    return runs["run"].unique().tolist()


def _lacks(metric: Criterion, series: Series) -> str:
    """Return why a series has no value by a criterion; empty if it has."""
    if metric.name == SPEED and series.unit == CONTEST:
        return "" if len(series.speeds) else "; ".join(grouping.not_timed(series))
    if len(by_seed(series, metric)):
        return ""
    states = grouping.no_speed if metric.speed else grouping.not_completed
    return "; ".join(states(series.runs)) or f"not each run has a {metric.name}"


def contenders(rows: pd.DataFrame) -> list[str]:
    """Return who may be best: variants not shown worse, and those equal to one of these and worse than none.

    These are multiple comparisons with the best: every pair was tested, adjusted together, so with
    probability 95 % the best is among those not shown worse. rows: compared pairs, by one criterion, of the
    same work.
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
    """Return the other one of a decided pair."""
    return str(row["second"] if row["winner"] == row["first"] else row["first"])


def overall(rows: pd.DataFrame) -> str:
    """Return the relation of all pairs by one criterion, of the same work, together."""
    pairs = rows[rows["relation"] != NOT_COMPARED]
    relations = set(pairs["relation"])
    if BETTER in relations:
        among = pairs[pairs[["first", "second"]].isin(contenders(pairs)).all(axis=1)]
        is_open = (among["relation"] == UNDECIDED).any()
        return PARTLY if is_open and rows["tuning"].iloc[0] != BOTH else BETTER
    if relations <= {UNDECIDED}:
        return UNDECIDED if relations else NOT_COMPARED
    return PARTLY if UNDECIDED in relations else EQUAL


def lengths(rows: pd.DataFrame, runs: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return by variant the seconds of a run without examples, and the seconds of an example.

    Training on N examples takes a + N / v seconds: v is the median steady speed, and a is what a median run
    took beyond its own examples at v. A variant without speeds, or whose runs differ in length, is left out.
    rows: of the table `differences`, on end to end, of the same work; runs: the table of its runs.
    """
    lines = {}
    for row in rows.to_dict("records"):
        names = row["runs"].split()  # of the first, then as many of the second
        halves = names[: row["n"]], names[row["n"] :]
        for label, half in zip((row["first"], row["second"]), halves, strict=True):
            part = runs[runs["run"].isin(half)]
            step = 1 / part["steady_examples_per_second"].median()
            planned = part["planned_epochs"] * part["planned_epoch_examples"]
            examples = planned.dropna().unique()
            if len(examples) == 1 and pd.notna(step):
                beyond = part["end_to_end_seconds"].median() - float(examples[0]) * step
                lines[label] = beyond, step
    return lines


def quickest(lines: dict[str, tuple[float, float]]) -> list[tuple[str, float]]:
    """Return who is quickest from start to end, by the length of training, from `lengths`.

    The list has names, each with the number of examples from which on it is quickest; 0 for the first.
    """
    if not lines:
        return []
    turns = [(min(lines, key=lines.__getitem__), 0.0)]
    while True:
        start, step = lines[turns[-1][0]]
        later = [
            ((other - start) / (step - faster), label)
            for label, (other, faster) in lines.items()
            if faster < step
        ]
        if not later:
            return turns
        examples, label = min(later)
        turns.append((label, float(f"{examples:.2g}")))
