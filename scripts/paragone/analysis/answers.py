"""What the evidence says, in sentences: made from the tables of verdicts, nothing is computed anew."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pandas as pd

from paragone.analysis.ahead_of_time.published import sentences
from paragone.analysis.pairwise import (
    METRICS,
    NOT_COMPARED,
    TUNING,
    UNDECIDED,
    best,
    margin_words,
)
from paragone.analysis.run_states import not_completed
from paragone.analysis.verdicts import NOT_COMPARABLE, REPRODUCED, VERDICTS
from paragone.config.run_spec import TUNED

# Reported even if undecided; all other metrics are reported only where they are decided.
ALWAYS = ("speed", "end to end")
OF_PAIRS, OF_PUBLISHED = ["metric", "workload", "global_batch", "division"], "system"
_WORK = ["workload", "global_batch"]


@dataclass(frozen=True)
class Tables:
    """The tables of one experiment: runs, and what they have of `differences` and `comparison`."""

    title: str
    runs: pd.DataFrame
    differences: pd.DataFrame = field(default_factory=pd.DataFrame)
    comparison: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True)
class Section:
    """One question and what answers it, a sentence per entry."""

    heading: str
    sentences: list[str]


def answers(experiments: list[Tables], bounds: Sequence[pd.DataFrame] = ()) -> list[Section]:
    """The answers to both questions of the project, what is undecided, and what was not run.

    `bounds`: the tables `published_bounds` of studies that were compiled and not run.
    """
    decided, open_, primary = [], [], []
    for one in experiments:
        for rows in _groups(one.differences, OF_PAIRS):
            text = f"{_lead(one)} {_subject(rows, one)}: {_of_pairs(rows)}"
            if (rows["family"] == "primary").any():
                primary.append(text)
            elif _any_decided(rows):
                decided.append(text)
            elif rows["metric"].iloc[0] in ALWAYS:
                open_.append(text)
        if one.differences.empty:
            open_.append(f"{_lead(one)} no two backends did the same work: nothing to compare.")
    published = [
        f"{_lead(one)} {text}" for one in experiments for text in _of_published(one.comparison)
    ]
    compiled = [text for table in bounds for text in sentences(table)]
    absent = [f"{_lead(one)} {text}" for one in experiments for text in _not_run(one.runs)]
    return [
        Section("Which way of training is best here?", primary or ["No experiment is primary."]),
        Section("Do the published numbers hold?", published or ["None was compared."]),
        *([Section("Compiled, not run: what devices explain", compiled)] if compiled else []),
        Section("Also decided, exploratory", decided or ["Nothing."]),
        Section("Undecided, and what it takes", open_ or ["Nothing."]),
        Section("Not run, and why", absent or ["All ran."]),
    ]


def _lead(one: Tables) -> str:
    return one.title if one.title.endswith(("?", ".", "!")) else f"{one.title}:"


def _groups(table: pd.DataFrame, keys: list[str]) -> Iterator[pd.DataFrame]:
    if len(table):
        yield from (rows for _, rows in table.groupby(keys, sort=False))


def _subject(rows: pd.DataFrame, one: Tables) -> str:
    """The metric, and the work where the experiment has several kinds of it."""
    metric, workload, batch, division = rows[OF_PAIRS].iloc[0]
    text = {TUNED: f"{metric} when tuned", TUNING: f"what tuning is worth in {metric}"}.get(
        division, str(metric)
    )
    several = len(one.differences[_WORK].drop_duplicates()) > 1
    return f"{text} ({workload}, batch {batch:,})" if several else text


def _any_decided(rows: pd.DataFrame) -> bool:
    return not rows["verdict"].isin([UNDECIDED, NOT_COMPARED]).all()


def _of_pairs(rows: pd.DataFrame) -> str:
    """Who is best, by how much; who is equal; what remains open."""
    compared = rows[rows["verdict"] != NOT_COMPARED]
    if compared.empty:
        return f"not compared ({'; '.join(dict.fromkeys(rows['why']))})."
    metric = next(one for one in METRICS if one.name == rows["metric"].iloc[0])
    parts, ahead = [], best(compared)
    beaten = [row for row in compared.to_dict("records") if row["verdict"].endswith(metric.words)]
    tuning = rows["division"].iloc[0] == TUNING
    if beaten and not tuning:
        parts.append(
            f"{ahead[0]} is best" if len(ahead) == 1 else f"the best is among {_and(ahead)}"
        )
    for row in beaten:
        turned = row["verdict"].startswith(f"{row['second']} is")
        winner, loser = (row[name] for name in ("second", "first")[:: 1 if turned else -1])
        if tuning or len(ahead) > 1 or winner == ahead[0]:
            parts.append(f"{winner} is {_size(row, turned)} {metric.words} than {loser}")
    equal = compared[compared["verdict"].str.startswith("equal")]
    for row in equal.to_dict("records"):
        pair = f"{row['first']} and {row['second']}"
        parts.append(f"{pair} are equal within {margin_words(metric)}: {_size(row)}")
    open_ = compared[compared["verdict"] == UNDECIDED]
    for why, part in open_.groupby("why", sort=False):
        pairs = [f"{row['first']} and {row['second']}" for row in part.to_dict("records")]
        parts.append(f"undecided between {', '.join(pairs)}: {why}")
    counts = sorted(set(compared["n"]))
    return f"{'; '.join(parts)} (n = {' or '.join(map(str, counts))} pairs)."


def _size(row: dict, turned: bool = False) -> str:
    """By how much, with its interval if that has ends: five pairs may show equality, and have none."""
    values = [row[name] for name in ("effect", "low", "high")]
    if turned:
        values = [1 / one if row["ratio"] else -one for one in values]
        values[1:] = values[:0:-1]
    form = "{:.2f}" if row["ratio"] else "{:+.3f}"
    middle, low, high = map(form.format, values)
    text = f"{middle} x" if row["ratio"] else middle
    return f"{text} [{low}, {high}]" if all(map(math.isfinite, values)) else text


def _of_published(table: pd.DataFrame) -> Iterator[str]:
    """One sentence per published system: its losses and accuracies, its end, and its ratios."""
    for rows in _groups(table, [OF_PUBLISHED]):
        system = rows[OF_PUBLISHED].iloc[0]
        outcomes = rows[rows["family"].isin(["outcome", "primary"])]
        judged = outcomes[outcomes["verdict"] != NOT_COMPARABLE]
        counted = rows[~rows.index.isin(outcomes.index) & (rows["verdict"] != NOT_COMPARABLE)]
        for row in counted.to_dict("records"):
            yield f"{system}, {row['metric'].replace('_', ' ')}: {row['verdict']} ({row['why']})."
        if judged.empty:
            if counted.empty:
                whys = (outcomes if len(outcomes) else rows)["why"]
                yield f"{system}: not comparable ({'; '.join(dict.fromkeys(whys.head(2)))})."
            continue
        primary = judged[judged["family"] == "primary"]
        counts = judged["verdict"].value_counts()
        words = [f"{counts[name]} {name}" for name in VERDICTS if name in counts]
        held = len(primary) and (primary["verdict"] == REPRODUCED).all()
        ends = [
            f"{row['metric'].replace('_', ' ')} {row['published']} published, {row[row['judge']]} measured: "
            f"{row['verdict']}"
            for row in primary.to_dict("records")
        ]
        yield (
            f"{system}: {'the end of training is reproduced' if held else 'not all reproduced'}: "
            f"{'; '.join(ends) or 'no final outcome'}. Of {len(judged)} published losses and "
            f"accuracies: {', '.join(words)}."
        )


def _not_run(runs: pd.DataFrame) -> Iterator[str]:
    for (workload, backend), part in runs.groupby(["workload", "backend"], sort=False):
        if words := not_completed(part):
            yield f"{workload} on {backend}: {'; '.join(words)}."


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
