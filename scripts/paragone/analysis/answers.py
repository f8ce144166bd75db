"""What the evidence says, in sentences: made from the tables of verdicts, nothing is computed anew."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pandas as pd

from paragone.analysis.ahead_of_time.published import sentences
from paragone.analysis.columns import OF_BUNDLE
from paragone.analysis.pairwise import (
    METRICS,
    NOT_COMPARED,
    TUNING,
    UNDECIDED,
    best,
    margin_words,
)
from paragone.analysis.prediction import AT_CHANCE, DIFFERS, REPRODUCED
from paragone.analysis.run_states import not_completed
from paragone.analysis.verdicts import NOT_COMPARABLE, VERDICTS
from paragone.config.run_spec import TUNED

# Reported even if undecided; all other metrics are reported only where they are decided.
ALWAYS = ("speed", "end to end")
NO_RUNS = pd.Series(dtype="object")
OF_PAIRS = ["metric", "workload", "global_batch", "division", "machine"]
OF_PUBLISHED = "system"
_WORK = ["workload", "global_batch"]


@dataclass(frozen=True)
class Tables:
    """The tables of one experiment: runs, and what they have of `differences` and `comparison`."""

    name: str
    title: str
    runs: pd.DataFrame
    differences: pd.DataFrame = field(default_factory=pd.DataFrame)
    comparison: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True)
class Answer:
    """A statement, and where its evidence is.

    `lead`: the title of the experiment that it is about, `experiment` its name, `table` one of its tables;
    empty where a section has no evidence to show. `verdict`: the short form of the statement. `runs`: names
    of the runs behind it.
    """

    text: str
    lead: str = ""
    experiment: str = ""
    table: str = ""
    verdict: str = ""
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One question and what answers it."""

    heading: str
    answers: list[Answer]

    @property
    def sentences(self) -> list[str]:
        """The answers, each with its lead."""
        return [f"{one.lead} {one.text}".strip() for one in self.answers]


def answers(experiments: list[Tables], bounds: Sequence[pd.DataFrame] = ()) -> list[Section]:
    """The answers to both questions of the project, what is undecided, and what was not run.

    `bounds`: the tables `published_bounds` of studies that were compiled and not run.
    """
    decided, open_, primary = [], [], []
    published: list[Answer] = []
    absent: list[Answer] = []
    for one in experiments:
        for rows in _groups(one.differences, OF_PAIRS):
            text = f"{_subject(rows, one)}: {_of_pairs(rows)}"
            evidence = one.name, "differences", _verdict(rows), _named(rows["runs"])
            answer = Answer(text, _lead(one), *evidence)
            if (rows["family"] == "primary").any():
                primary.append(answer)
            elif _any_decided(rows):
                decided.append(answer)
            elif rows["metric"].iloc[0] in ALWAYS:
                open_.append(answer)
        if one.differences.empty:
            text = "no two backends did the same work: nothing to compare."
            open_.append(Answer(text, _lead(one), one.name, verdict=NOT_COMPARED))
        published += _of_published(one)
        absent += _not_run(one)
    compiled = [Answer(text) for table in bounds for text in sentences(table)]
    return [
        Section(
            "Which way of training is best here?", primary or _nothing("No experiment is primary.")
        ),
        Section("Do the published numbers hold?", published or _nothing("None was compared.")),
        *([Section("Compiled, not run: what devices explain", compiled)] if compiled else []),
        Section("Also decided, exploratory", decided or _nothing("Nothing.")),
        Section("Undecided, and what it takes", open_ or _nothing("Nothing.")),
        Section("Not run, and why", absent or _nothing("All ran.")),
    ]


def _nothing(text: str) -> list[Answer]:
    return [Answer(text)]


def _named(runs: pd.Series) -> tuple[str, ...]:
    """The runs named in the cells of a column, each once."""
    return tuple(dict.fromkeys(name for cell in runs.dropna() for name in cell.split()))


def _verdict(rows: pd.DataFrame) -> str:
    """The strongest of the verdicts of a metric's pairs: who is better, equal, undecided, not compared."""
    verdicts = rows["verdict"].tolist()
    metric = next(one for one in METRICS if one.name == rows["metric"].iloc[0])
    if any(one.endswith(metric.words) for one in verdicts):
        return metric.words
    if any(one.startswith("equal") for one in verdicts):
        return "equal"
    return UNDECIDED if UNDECIDED in verdicts else NOT_COMPARED


def _lead(one: Tables) -> str:
    return one.title if one.title.endswith(("?", ".", "!")) else f"{one.title}:"


def _groups(table: pd.DataFrame, keys: list[str]) -> Iterator[pd.DataFrame]:
    if len(table):
        yield from (rows for _, rows in table.groupby(keys, sort=False))


def _subject(rows: pd.DataFrame, one: Tables) -> str:
    """The metric; the work, and the machine, where the experiment has several."""
    metric, workload, batch, division, machine = rows[OF_PAIRS].iloc[0]
    text = {TUNED: f"{metric} when tuned", TUNING: f"what tuning is worth in {metric}"}.get(
        division, str(metric)
    )
    if len(one.differences[_WORK].drop_duplicates()) > 1:
        text += f" ({workload}, batch {batch:,})"
    if len(set(one.differences["machine"])) > 1:
        text += f" on {machine.partition(OF_BUNDLE)[0]}"
    return text


def _any_decided(rows: pd.DataFrame) -> bool:
    return not rows["verdict"].isin([UNDECIDED, NOT_COMPARED]).all()


def _of_pairs(rows: pd.DataFrame) -> str:
    """Who is best, by how much; who is equal; what remains open."""
    compared = rows[rows["verdict"] != NOT_COMPARED]
    if compared.empty:
        return f"not compared ({_lacking(rows)})."
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


def _lacking(rows: pd.DataFrame) -> str:
    """Why no pair was compared: each reason once, with all that it holds for."""
    reasons: dict[str, dict[str, None]] = {}
    for row in rows.to_dict("records"):
        first, comma, second = row["why"].partition(f", {row['second']}: ")
        for words in [first, f"{row['second']}: {second}"] if comma else [row["why"]]:
            label, _, reason = words.partition(": ")
            reasons.setdefault(reason or label, {})[label if reason else ""] = None
    return "; ".join(
        f"{', '.join(labels)}: {reason}" if all(labels) else reason
        for reason, labels in reasons.items()
    )


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


def _of_published(one: Tables) -> Iterator[Answer]:
    """One answer per published system: its losses and accuracies, its end, and its ratios."""
    for rows in _groups(one.comparison, [OF_PUBLISHED]):
        runs = _named(
            pd.concat([rows[name] for name in rows if name.startswith("runs of ")] or [NO_RUNS])
        )
        for text, verdict in _of_system(rows):
            yield Answer(text, _lead(one), one.name, "comparison", verdict, runs)


def _of_system(rows: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Sentences on one published system, each with its verdict."""
    system = rows[OF_PUBLISHED].iloc[0]
    outcomes = rows[rows["family"].isin(["outcome", "primary"])]
    judged = outcomes[outcomes["verdict"] != NOT_COMPARABLE]
    counted = rows[~rows.index.isin(outcomes.index) & (rows["verdict"] != NOT_COMPARABLE)]
    for row in counted.to_dict("records"):
        metric = row["metric"].replace("_", " ")
        yield f"{system}, {metric}: {row['verdict']} ({row['why']}).", row["verdict"]
    if judged.empty:
        if counted.empty:
            whys = (outcomes if len(outcomes) else rows)["why"]
            reasons = "; ".join(dict.fromkeys(whys.head(2)))
            yield f"{system}: not comparable ({reasons}).", NOT_COMPARABLE
        return
    primary = judged[judged["family"] == "primary"]
    counts = judged["verdict"].value_counts()
    words = [f"{counts[name]} {name}" for name in VERDICTS if name in counts]
    held = len(primary) and (primary["verdict"] == REPRODUCED).all()
    ends = [
        f"{row['metric'].replace('_', ' ')} {row['published']} published, {row[row['judge']]} measured: "
        f"{row['verdict']}"
        for row in primary.to_dict("records")
    ]
    # The one that speaks most against the published numbers.
    found = set(primary["verdict"] if len(primary) else judged["verdict"])
    worst = next(one for one in (DIFFERS, AT_CHANCE, UNDECIDED, REPRODUCED) if one in found)
    yield (
        (
            f"{system}: {'the end of training is reproduced' if held else 'not all reproduced'}: "
            f"{'; '.join(ends) or 'no final outcome'}. Of {len(judged)} published losses and "
            f"accuracies: {', '.join(words)}."
        ),
        worst,
    )


def _not_run(one: Tables) -> Iterator[Answer]:
    for (workload, backend), part in one.runs.groupby(["workload", "backend"], sort=False):
        if words := not_completed(part):
            text = f"{workload} on {backend}: {'; '.join(words)}."
            gone = part.loc[part["status"] != "completed", "run"]
            yield Answer(text, _lead(one), one.name, verdict="not run", runs=tuple(gone))


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
