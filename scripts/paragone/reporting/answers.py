"""The answers that tables of verdicts give to the project's questions, and their files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from paragone.analysis import pairwise, tidy
from paragone.analysis.grouping import series_of
from paragone.analysis.metrics import named
from paragone.analysis.pairwise import BOTH, END_TO_END, NOT_COMPARED, SPEED, UNDECIDED
from paragone.analysis.run_states import not_completed
from paragone.analysis.states import States, calm, states
from paragone.base.errors import UserError
from paragone.config.run_spec import TUNED
from paragone.reporting import footnotes, words

BEST = "Which way of training is best here?"
FIRST = "The first answer: which way of training is fastest, once it runs?"
HOLD = "Do the published numbers hold?"
ALSO = "Also decided, exploratory"
OPEN = "Undecided, and what it takes"
ABSENT = "Not run, and why"
_PAIRS = (
    "A pair is two runs of equal seed, trained one soon after the other. In brackets: 95 % intervals of "
    "each pair alone. Better and equal are tested at 5 %, adjusted for all pairs of a metric"
)
# How to read the numbers below a heading.
NOTES = {
    BEST: f"{_PAIRS}. Exploratory: not the question fixed beforehand; of many such answers some are false.",
    HOLD: "A published run counts once, by its final numbers. Differs: it is not where one more run of this "
    "program would be, by a test at 5 %, adjusted for its numbers. Holds: it is, and equal within a margin "
    "that was fixed beforehand. Consistent: it is, but the test is weak; in brackets is what it would have "
    "noticed in 80 % of cases. At chance: not above always guessing the most frequent class. How runs vary "
    "over seeds is known from committed runs of one backend, which judges, and from those here.",
    ALSO: f"{_PAIRS}, not for the number of metrics.",
    FIRST: "Speeds of variants that were timed in turn, within this hour and without their starts. In "
    "brackets: 95 % intervals. `snakemake all` adds times from start to end, accuracies, published numbers.",
}
NOTHING = {
    BEST: "No primary experiment compares two variants.",
    HOLD: "None was compared.",
    ALSO: "Nothing.",
    OPEN: "Nothing.",
    ABSENT: "All ran.",
}
NOT_RUN = "not run"
# Reported even if undecided; all other metrics are reported only where they are decided.
_ALWAYS = (SPEED, END_TO_END)
_GROUP = ["metric", "workload", "global_batch", "tuning", "machine"]
# Columns whose empty cells are empty texts.
_TEXTS = ["winner", "first_lacks", "second_lacks", "why", "unit", "family", "judge", "runs"]
_TEXTS += ["verdict", "bound", "run_verdict", "explanation", "explained"]


@dataclass(frozen=True)
class Tables:
    """The tables of one experiment: runs, and what there is of `differences`, `comparison` and `rounds`.

    `labels`: by backend, of the rounds.
    """

    name: str
    title: str
    runs: pd.DataFrame
    differences: pd.DataFrame = field(default_factory=pd.DataFrame)
    comparison: pd.DataFrame = field(default_factory=pd.DataFrame)
    rounds: pd.DataFrame = field(default_factory=pd.DataFrame)
    labels: dict[str, str] = field(default_factory=dict)

    @cached_property
    def states(self) -> list[States]:
        """Return the states of the machines that were disturbed during contests."""
        found = states(self.rounds, self.labels) if len(self.rounds) else []
        return [one for one in found if one.disturbed]

    @cached_property
    def in_calm_rounds(self) -> pd.DataFrame:
        """Return the rows of `differences` with speeds of calm rounds alone; empty if all rounds are calm."""
        if not self.states:
            return pd.DataFrame()
        return pairwise.differences(self.runs, self.labels, calm(self.rounds))

    @property
    def lead(self) -> str:
        """The title as the beginning of a sentence."""
        return self.title if self.title.endswith(("?", ".", "!")) else f"{self.title}:"


@dataclass(frozen=True)
class Answer:
    """A statement, and where its evidence is.

    `lead`: the title of the experiment that it is about, `experiment` its name, `table` one of its tables;
    empty where a section has no evidence to show. `outcome`: the verdict behind it, a relation of
    `analysis.pairwise`, a verdict of `analysis.verdicts` or `NOT_RUN`; `verdict`: the same in words. `runs`:
    names of the runs behind it.
    """

    text: str
    lead: str = ""
    experiment: str = ""
    table: str = ""
    outcome: str = ""
    verdict: str = ""
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One question and what answers it."""

    heading: str
    answers: list[Answer]

    @property
    def note(self) -> str:
        """How to read the numbers of the answers; may be empty."""
        has_numbers = any(answer.runs for answer in self.answers)
        return NOTES.get(self.heading, "") if has_numbers else ""

    @property
    def sentences(self) -> list[str]:
        """The answers, each with its lead."""
        return [f"{answer.lead} {answer.text}".strip() for answer in self.answers]


def answers(experiments: list[Tables], left_out: Sequence[str] = ()) -> list[Section]:
    """The answers to both questions of the project, what is undecided, and what was not run.

    `left_out`: what was not asked for, in sentences.
    """
    by_heading: dict[str, list[Answer]] = {name: [] for name in (BEST, HOLD, ALSO, OPEN, ABSENT)}
    if overview := words.overview([tables.comparison for tables in experiments]):
        by_heading[HOLD].append(Answer(overview))
    for tables in experiments:
        for heading, answer in _of_pairs(tables):
            by_heading[heading].append(answer)
        by_heading[HOLD] += _of_published(tables)
        by_heading[ABSENT] += _not_run(tables)
    by_heading[ABSENT] += map(Answer, left_out)
    return [
        Section(heading, given or [Answer(NOTHING[heading])])
        for heading, given in by_heading.items()
    ]


def of_contests(title: str, rounds: pd.DataFrame, labels: dict[str, str]) -> Section:
    """What the contests of an experiment say of speeds, before its runs are trained.

    `rounds`: the table of their windows.
    """
    tables = Tables("", title, rounds, rounds=rounds, labels=labels)
    keys = ["workload", "global_batch", "tuning"]
    found = pairwise.verdicts(rounds, labels)
    again = pairwise.verdicts(calm(rounds), labels) if tables.states else found
    works = [*_groups(found, keys)]
    said = []
    for rows in works:
        workload, batch = rows[["workload", "global_batch"]].iloc[0]
        work = f" ({workload}, batch {batch:,})" if len(works) > 1 else ""
        text = f"speed{work}: {words.sentence(rows)}{_of_states(rows, tables.states, again)}"
        said.append(Answer(text, tables.lead, runs=_named(rows["runs"])))
    if not said:
        return Section(FIRST, [Answer("no contest times two of its variants.", tables.lead)])
    for same in _groups(rounds, ["workload", "global_batch"]):
        series = series_of(same, labels, same)
        speeds = [f"{one.label} {one.speeds.median():,.0f}" for one in series if len(one.speeds)]
        work = f"{series[0].workload}, batch {series[0].global_batch:,}"
        said.append(Answer(f"Examples/s of {work}, medians: {', '.join(speeds) or 'none'}."))
    lengths = rounds.drop_duplicates(["run", "contest"])["contest_seconds"]
    contests = f"{len(lengths)} contest{'s' if len(lengths) > 1 else ''}"
    took = f"{contests} took {footnotes.duration(lengths.sum())}."
    busy = footnotes.isolation(rounds) or ["Nothing else kept the machine busy."]
    return Section(FIRST, [*said, Answer(" ".join([took, *busy]))])


def _of_pairs(tables: Tables) -> Iterator[tuple[str, Answer]]:
    """The answers on pairs of backends, each with its heading."""
    if tables.differences.empty:
        text = "no two backends did the same work with the same tuning: nothing to compare."
        yield OPEN, Answer(text, tables.lead, tables.name, "", NOT_COMPARED, NOT_COMPARED)
        return
    single = []
    for rows in _groups(tables.differences, _GROUP):
        heading, metric = _heading(rows, tables), rows["metric"].iloc[0]
        if heading == OPEN and (rows["n"] == 1).all() and (rows["relation"] == UNDECIDED).all():
            single.append(rows)
        elif heading != OPEN or metric in _ALWAYS:
            text = words.sentence(rows)
            if metric == SPEED:
                here = [one for one in tables.states if one.machine == rows["machine"].iloc[0]]
                text += _of_states(rows, here, tables.in_calm_rounds)
            if metric == END_TO_END:
                text += words.quickest(pairwise.quickest(rows, tables.runs))
            yield heading, _answer(tables, f"{_subject(rows, tables, heading)}: {text}", rows)
    if single:
        metrics = dict.fromkeys(rows["metric"].iloc[0] for rows in single)
        text = f"{words.joined([*metrics])}: {words.of_single_pairs(single)}"
        yield OPEN, _answer(tables, text, pd.concat(single))


def _of_states(rows: pd.DataFrame, found: list[States], again: pd.DataFrame) -> str:
    """How a disturbed machine slowed the variants of a verdict on speed, and what calm rounds alone say;
    empty where it was calm. `again`: the rows of calm rounds.
    """
    keys = ["workload", "global_batch", *(["machine"] if "machine" in rows else [])]
    work = rows[keys].iloc[0]
    here = [one for one in found if (one.workload, one.global_batch) == (*work[:2],)]
    if not here:
        return ""
    same = again[again["metric"].eq(SPEED) & again[keys].eq(work).all(axis=1)]
    return "".join(
        f" {text}" for text in [*map(words.of_states, here), *words.in_calm_rounds(rows, same)]
    )


def _heading(rows: pd.DataFrame, tables: Tables) -> str:
    """Where an answer belongs; end-to-end time with the primary metric, as speed excludes compilation."""
    is_of_primary = (tables.differences["family"] == "primary").any()
    if (rows["family"] == "primary").any():
        return BEST
    if is_of_primary and rows["metric"].iloc[0] == END_TO_END and rows["n"].max() > 1:
        return BEST
    if rows["relation"].isin([UNDECIDED, NOT_COMPARED]).all():
        return OPEN
    return BEST if is_of_primary and rows["metric"].iloc[0] in _ALWAYS else ALSO


def _answer(tables: Tables, text: str, rows: pd.DataFrame) -> Answer:
    return Answer(
        text,
        tables.lead,
        tables.name,
        "differences",
        pairwise.overall(rows),
        words.relation(rows),
        _named(rows["runs"]),
    )


def _named(runs: pd.Series) -> tuple[str, ...]:
    """The runs named in the cells of a column, each once."""
    return tuple(dict.fromkeys(name for cell in runs for name in cell.split()))


def _groups(table: pd.DataFrame, keys: list[str]) -> Iterator[pd.DataFrame]:
    if len(table):
        yield from (rows for _, rows in table.groupby(keys, sort=False))


def _subject(rows: pd.DataFrame, tables: Tables, heading: str) -> str:
    """The metric; the work, and the machine, where the experiment has several; whether it is exploratory."""
    metric, workload, batch, tuning, machine = rows[_GROUP].iloc[0]
    text = {TUNED: f"{metric} when tuned", BOTH: f"what tuning is worth in {metric}"}.get(
        tuning, str(metric)
    )
    if len(tables.differences[["workload", "global_batch"]].drop_duplicates()) > 1:
        text += f" ({workload}, batch {batch:,})"
    if len(set(tables.differences["machine"])) > 1:
        text += f" on {machine}"
    used = tables.runs[tables.runs["run"].isin(_named(rows["runs"]))]
    if metric == END_TO_END and (examples := pairwise.examples_of(used)):
        text += f" of runs of {examples:,.0f} examples"
    text += f", {about}" if (about := named(metric).about) else ""
    is_primary = (rows["family"] == "primary").any()
    return f"{text} (exploratory)" if heading == BEST and not is_primary else text


def _of_published(tables: Tables) -> Iterator[Answer]:
    """One answer per published system: its losses and accuracies, its end, and its ratios."""
    for rows in _groups(tables.comparison, ["system"]):
        for text, verdict in words.of_system(rows):
            runs = _named(rows["runs"])
            yield Answer(text, tables.lead, tables.name, "comparison", verdict, verdict, runs)


def _not_run(tables: Tables) -> Iterator[Answer]:
    for (workload, backend), part in tables.runs.groupby(["workload", "backend"], sort=False):
        if states := not_completed(part):
            text = f"{workload} on {backend}: {'; '.join(states)}."
            runs = tuple(part.loc[part["status"] != "completed", "run"])
            yield Answer(text, tables.lead, tables.name, "", NOT_RUN, NOT_RUN, runs)


def from_tables(
    titles: Sequence[str],
    runs: Sequence[Path],
    differences: Sequence[Path],
    comparisons: Sequence[Path],
    left_out: Sequence[str] = (),
    rounds: Sequence[Path] = (),
    labels: dict[str, str] | None = None,
) -> list[Section]:
    """The answers of files of tables.

    `titles`, `runs`: one per experiment, in order; of the other tables those there are. `left_out`: what was
    not asked for, in sentences. `labels`: by backend. Raises `UserError` if a file is no table.
    """
    pairs, published = (
        {path.parent: _read(path) for path in paths} for paths in (differences, comparisons)
    )
    windows = {path.parent: tidy.read(path) for path in rounds}
    empty = pd.DataFrame()
    experiments = [
        Tables(
            folder.name,
            title,
            tidy.read(path),
            pairs.get(folder, empty),
            published.get(folder, empty),
            windows.get(folder, empty),
            labels or {},
        )
        for title, path in zip(titles, runs, strict=True)
        for folder in [path.parent]
    ]
    return answers(experiments, left_out)


def to_frame(sections: list[Section]) -> pd.DataFrame:
    """One row per answer; `runs`: names separated by spaces, as in all tables."""
    rows = [
        {"question": section.heading, **vars(answer), "runs": " ".join(answer.runs)}
        for section in sections
        for answer in section.answers
    ]
    return pd.DataFrame(rows)


def read(path: Path) -> list[Section]:
    """The sections in a CSV file of `to_frame`. Raises `UserError` if it is not one."""
    try:
        table = pd.read_csv(path, keep_default_na=False)
        return [
            Section(
                str(heading),
                [
                    Answer(**{**row, "runs": tuple(row["runs"].split())})
                    for row in part.drop(columns="question").to_dict("records")
                ],
            )
            for heading, part in table.groupby("question", sort=False)
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: not the table of answers ({error}); run answer.py first"
        ) from None


def _read(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a table ({error}); run write_table.py first") from None
    texts = [name for name in _TEXTS if name in table]
    return table.astype(dict.fromkeys(texts, object)).fillna(dict.fromkeys(texts, ""))
