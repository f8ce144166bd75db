"""What the evidence says, in sentences: made from the tables of verdicts, nothing is computed anew."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pandas as pd

from paragone.analysis import break_even, pair_sentences, published_sentences
from paragone.analysis.columns import OF_BUNDLE
from paragone.analysis.grouping import without
from paragone.analysis.metrics import named
from paragone.analysis.pairwise import NOT_COMPARED, TUNING, UNDECIDED
from paragone.analysis.run_states import not_completed
from paragone.config.run_spec import TUNED

BEST = "Which way of training is best here?"
HOLD = "Do the published numbers hold?"
ALSO = "Also decided, exploratory"
OPEN = "Undecided, and what it takes"
ABSENT = "Not run, and why"
_PAIRS = (
    "A pair is two runs of equal seed, trained one soon after the other. In brackets: 95 % intervals. Better "
    "and equal are tested at 5 %, adjusted for all pairs of a metric"
)
# How to read the numbers below a heading.
NOTES = {
    BEST: f"{_PAIRS}. Exploratory: not the question fixed beforehand; of many such answers some are false.",
    HOLD: "A published number is one run. After ±: where one more run of ours would be, at 95 %. "
    "Reproduced: this and the distance are within the margin, which was fixed beforehand. Differs: the "
    "distance is beyond what follows ± and beyond the margin and, at the end of training, significant when "
    "adjusted for the three numbers there. At chance: not above always guessing the most frequent class. "
    "Else undecided. The judge is the backend of the 20 runs in published/spread.csv, which the project "
    "brings: what follows ± is computed from how these vary over seeds.",
    ALSO: f"{_PAIRS}, not for the number of metrics.",
}
NOTHING = {
    BEST: "No primary experiment compares two ways.",
    HOLD: "None was compared.",
    ALSO: "Nothing.",
    OPEN: "Nothing.",
    ABSENT: "All ran.",
}
# Reported even if undecided; all other metrics are reported only where they are decided.
ALWAYS = ("speed", "end to end")
NO_RUNS = pd.Series(dtype="object")
OF_PAIRS = ["metric", "workload", "global_batch", "division", "machine"]
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
    def note(self) -> str:
        """How to read the numbers of the answers; may be empty."""
        return NOTES.get(self.heading, "") if any(one.runs for one in self.answers) else ""

    @property
    def sentences(self) -> list[str]:
        """The answers, each with its lead."""
        return [f"{one.lead} {one.text}".strip() for one in self.answers]


def answers(experiments: list[Tables], left_out: Sequence[str] = ()) -> list[Section]:
    """The answers to both questions of the project, what is undecided, and what was not run.

    `left_out`: what was not asked for, in sentences.
    """
    found: dict[str, list[Answer]] = {one: [] for one in (BEST, HOLD, ALSO, OPEN, ABSENT)}
    if overview := published_sentences.overview([one.comparison for one in experiments]):
        found[HOLD].append(Answer(overview))
    for one in experiments:
        for heading, answer in _of_pairs(one):
            found[heading].append(answer)
        found[HOLD] += _of_published(one)
        found[ABSENT] += _not_run(one)
    found[ABSENT] += map(Answer, left_out)
    return [
        Section(heading, given or [Answer(NOTHING[heading])])
        for heading, given in found.items()
        if given or heading in NOTHING
    ]


def _of_pairs(one: Tables) -> Iterator[tuple[str, Answer]]:
    """The answers on pairs of backends, each with its heading."""
    if one.differences.empty:
        text = "no two backends did the same work in the same division: nothing to compare."
        yield OPEN, Answer(text, _lead(one), one.name, verdict=NOT_COMPARED)
        return
    single = []
    for rows in _groups(one.differences, OF_PAIRS):
        heading, metric = _heading(rows, one), rows["metric"].iloc[0]
        if heading == OPEN and pair_sentences.are_single(rows):
            single.append(rows)
        elif heading != OPEN or metric in ALWAYS:
            text = pair_sentences.sentence(rows)
            if metric == break_even.METRIC:
                text += break_even.sentence(rows, _speeds(rows, one), one.runs)
            verdict = pair_sentences.verdict(rows)
            if machine := _machine(rows, one):  # the subject names it
                text, verdict = (without(part, f"on {machine}") for part in (text, verdict))
            yield heading, _answer(one, f"{_subject(rows, one, heading)}: {text}", rows, verdict)
    if single:
        metrics = dict.fromkeys(rows["metric"].iloc[0] for rows in single)
        text = f"{pair_sentences.joined([*metrics])}: {pair_sentences.of_single_pairs(single)}"
        yield OPEN, _answer(one, text, pd.concat(single), UNDECIDED)


def _heading(rows: pd.DataFrame, one: Tables) -> str:
    """Where an answer belongs; end-to-end time with the primary metric, as speed excludes compilation."""
    if (rows["family"] == "primary").any():
        return BEST
    if not pair_sentences.is_decided(rows):
        return OPEN
    is_of_primary = (one.differences["family"] == "primary").any()
    return BEST if is_of_primary and rows["metric"].iloc[0] in ALWAYS else ALSO


def _answer(one: Tables, text: str, rows: pd.DataFrame, verdict: str) -> Answer:
    return Answer(text, _lead(one), one.name, "differences", verdict, _named(rows["runs"]))


def _named(runs: pd.Series) -> tuple[str, ...]:
    """The runs named in the cells of a column, each once."""
    return tuple(dict.fromkeys(name for cell in runs.dropna() for name in cell.split()))


def _lead(one: Tables) -> str:
    return one.title if one.title.endswith(("?", ".", "!")) else f"{one.title}:"


def _groups(table: pd.DataFrame, keys: list[str]) -> Iterator[pd.DataFrame]:
    if len(table):
        yield from (rows for _, rows in table.groupby(keys, sort=False))


def _subject(rows: pd.DataFrame, one: Tables, heading: str) -> str:
    """The metric; the work, and the machine, where the experiment has several; whether it is exploratory."""
    metric, workload, batch, division, _ = rows[OF_PAIRS].iloc[0]
    text = {TUNED: f"{metric} when tuned", TUNING: f"what tuning is worth in {metric}"}.get(
        division, str(metric)
    )
    if len(one.differences[_WORK].drop_duplicates()) > 1:
        text += f" ({workload}, batch {batch:,})"
    if machine := _machine(rows, one):
        text += f" on {machine}"
    if metric == break_even.METRIC and (examples := break_even.length(_runs_of(rows, one))):
        text += f" of runs of {examples:,.0f} examples"
    text += f", {about}" if (about := named(metric).about) else ""
    beside = heading == BEST and not (rows["family"] == "primary").any()
    return f"{text} (exploratory)" if beside else text


def _machine(rows: pd.DataFrame, one: Tables) -> str:
    """The machine of the rows, where the experiment ran on several; of a bundle its label."""
    several = len(set(one.differences["machine"])) > 1
    return str(rows["machine"].iloc[0]).partition(OF_BUNDLE)[0] if several else ""


def _runs_of(rows: pd.DataFrame, one: Tables) -> pd.DataFrame:
    return one.runs[one.runs["run"].isin(_named(rows["runs"]))]


def _speeds(rows: pd.DataFrame, one: Tables) -> pd.DataFrame:
    """The rows on speed of the same work on the same machine."""
    same = one.differences[OF_PAIRS[1:]].eq(rows[OF_PAIRS[1:]].iloc[0]).all(axis=1)
    return one.differences[same & (one.differences["metric"] == break_even.SPEED)]


def _of_published(one: Tables) -> Iterator[Answer]:
    """One answer per published system: its losses and accuracies, its end, and its ratios."""
    for rows in _groups(one.comparison, ["system"]):
        runs = _named(
            pd.concat([rows[name] for name in rows if name.startswith("runs of ")] or [NO_RUNS])
        )
        for text, verdict in published_sentences.sentences(rows):
            yield Answer(text, _lead(one), one.name, "comparison", verdict, runs)


def _not_run(one: Tables) -> Iterator[Answer]:
    for (workload, backend), part in one.runs.groupby(["workload", "backend"], sort=False):
        if words := not_completed(part):
            text = f"{workload} on {backend}: {'; '.join(words)}."
            gone = part.loc[part["status"] != "completed", "run"]
            yield Answer(text, _lead(one), one.name, verdict="not run", runs=tuple(gone))
