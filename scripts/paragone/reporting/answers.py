"""The answers that tables of verdicts give to the project's questions, what pictures show, and files.

All sentences are made in `words`.
"""

import json
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from paragone.analysis import pairwise, tidy
from paragone.analysis.grouping import by_machine, series_of
from paragone.analysis.metrics import named
from paragone.analysis.pairwise import BOTH, END_TO_END, NOT_COMPARED, SPEED, UNDECIDED
from paragone.analysis.prediction import DIFFERS, NOT_COMPARABLE, Judgement
from paragone.analysis.run_states import not_completed
from paragone.analysis.verdicts import VERDICTS, PublishedRun
from paragone.base.errors import UserError
from paragone.config.questions import WORK
from paragone.config.run_spec import TUNED
from paragone.reporting import footnotes, words

BEST = "Which variant trains fastest here?"
HOLD = "Do the published results hold?"
ALSO = "Other questions, exploratory"
OPEN = "What is open, and what it takes"
NOT_RUN = "not run"
WIDTH, LINES = 100, 40  # characters of a line on the terminal, and lines of all answers
_ROWS, _RUNS, _MORE = (
    6,
    3,
    3,
)  # variants and published runs there, and lines on questions besides the first
_GROUP = [*WORK, "tuning", "machine"]
# Columns whose empty cells are empty texts.
_TEXTS = ["winner", "first_lacks", "second_lacks", "why", "unit", "family", "verdict", "runs"]
BASELINE = "baseline"  # in the picture of a question, beside relations of pairs


@dataclass(frozen=True)
class Tables:
    """The tables of one experiment: runs, and what there is of `differences`, `comparison` and `rounds`.

    `published`: the runs that `comparison` judges. `labels`: by backend. `baseline`: the label of the backend
    that pictures are relative to.
    """

    name: str
    title: str
    runs: pd.DataFrame
    differences: pd.DataFrame = field(default_factory=pd.DataFrame)
    comparison: pd.DataFrame = field(default_factory=pd.DataFrame)
    published: Sequence[PublishedRun] = ()
    rounds: pd.DataFrame = field(default_factory=pd.DataFrame)
    labels: dict[str, str] = field(default_factory=dict)
    baseline: str = ""


@dataclass(frozen=True)
class Variant:
    """A variant in the picture of a question.

    speed: examples/s. effect, low, high: how much better than the baseline it is, with its 95 % interval:
    a ratio or a difference. verdict: `BASELINE`, or how it compares, in words.
    start, step: seconds of a run without examples, and of an example.
    """

    label: str
    verdict: str
    speed: float | None = None
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    start: float | None = None
    step: float | None = None


@dataclass(frozen=True)
class Picture:
    """Variants beside the baseline, and who ends first.

    `margin`: an effect that does not matter, as a ratio or a difference. `measured`: from what. `turns`: of
    `pairwise.quickest`.
    """

    what: str
    baseline: str
    ratio: bool
    margin: float
    measured: str
    variants: list[Variant]
    turns: list[tuple[str, float]] = field(default_factory=list)

    def effect_of(self, one: Variant) -> str:
        """The effect of a variant as text, with its interval."""
        if one.effect is None:
            return ""
        form = "{:,.2f}" if self.ratio else "{:,.3f}"
        return words.with_interval(form, one.effect, one.low, one.high)


@dataclass(frozen=True)
class PublishedNumber:
    """One final number of a published run, as `printed`: a row of the table `comparison`.

    One more run of the program would be in one of the `ranges`, around the `center` of its runs; none where
    that is not known. `text`: how far the number is from there.
    """

    metric: str
    printed: str
    value: float
    verdict: str
    text: str
    center: float
    ranges: list[tuple[float, float]]


@dataclass(frozen=True)
class Published:
    """A published run, or several of one program as a sample, and its verdict by its final numbers.

    `about`: its program, and how many runs of that. `said`: which numbers differ, and to which side. `why`:
    why it cannot be compared.
    """

    system: str
    verdict: str
    words: str
    title: str
    experiment: str
    numbers: list[PublishedNumber] = field(default_factory=list)
    about: str = ""
    said: str = ""
    why: str = ""

    @property
    def name(self) -> str:
        """Return the name of the run among those of all experiments."""
        return f"{self.system} ({self.title.partition(',')[0]})"

    @property
    def sentence(self) -> str:
        """Return which published run differs, and in what."""
        return f"{self.name} {self.words}. {self.said}"


@dataclass(frozen=True)
class Answer:
    """A sentence, what a reader must know of besides, and where its evidence is.

    `lead`: the title of the experiment that it is about, `experiment` its name, `table` one of its tables.
    `outcome`: the verdict behind it, a relation of `analysis.pairwise` or `NOT_RUN`.
    """

    text: str
    lead: str = ""
    experiment: str = ""
    table: str = ""
    outcome: str = ""
    cautions: tuple[str, ...] = ()
    picture: Picture | None = None

    @property
    def paragraph(self) -> str:
        """Return the lead, the sentence and the cautions as one text."""
        sign = "" if self.lead[-1:] in "?." else ":"
        return " ".join(filter(None, [f"{self.lead}{sign}", self.text, *self.cautions]))


@dataclass(frozen=True)
class Section:
    """One question and what answers it; `published`: the runs that can be judged, then the others."""

    heading: str
    answers: list[Answer]
    published: list[Published] = field(default_factory=list)

    @property
    def judged(self) -> list[Published]:
        """Return the published runs that have a verdict."""
        return [one for one in self.published if one.verdict != NOT_COMPARABLE]


def answers(experiments: list[Tables], left_out: Sequence[str] = ()) -> list[Section]:
    """The answers to both questions of the project, and what is open.

    `left_out`: what was not asked for, in sentences.
    """
    best: list[Answer] = []
    unanswered: list[Answer] = []
    said: set[tuple[Any, ...]] = set()
    # The question fixed beforehand comes first.
    for tables in sorted(
        experiments, key=lambda one: "primary" not in {*one.differences.get("family", ())}
    ):
        for rows in _groups(tables.differences, _GROUP):
            # Experiments share contests: what these say is said once.
            speeds = rows["metric"] == SPEED
            own = rows[_GROUP].iloc[0], rows["first"], rows["second"], rows.loc[speeds, "effect"]
            key = tuple(value for part in own for value in part)
            new = rows[~speeds | (key not in said)]
            said.add(key)
            if answer := _best(tables, new):
                best.append(answer)
            unanswered += _undecided(tables, new)
        unanswered += _not_run(tables)
    unanswered += map(Answer, left_out)
    return [
        Section(BEST, best[:1] or [Answer("No two variants could be compared.")]),
        _published(experiments),
        *([Section(ALSO, best[1:])] if best[1:] else []),
        Section(OPEN, unanswered or [Answer("Nothing is open.")]),
    ]


def of_contests(
    title: str, rounds: pd.DataFrame, labels: dict[str, str], baseline: str = ""
) -> Section:
    """What the contests of an experiment say of speeds, before its runs are trained.

    `rounds`: the table of their windows.
    """
    found = pairwise.verdicts(rounds, labels)
    found = found.assign(family="primary", machine="")
    tables = Tables("", title, rounds, found, rounds=rounds, labels=labels, baseline=baseline)
    said = [answer for rows in _groups(found, _GROUP) if (answer := _best(tables, rows))]
    return Section(BEST, said or [Answer("No contest times two of its variants.", title)])


def _best(tables: Tables, rows: pd.DataFrame) -> Answer | None:
    """Who is best at the same work on one machine; None where nothing is decided that was not asked first."""
    by_metric = dict(list(rows.groupby("metric", sort=False)))
    primary = rows.loc[rows["family"] == "primary", "metric"].unique()
    decided = [
        name
        for name in (SPEED, END_TO_END)
        if name in by_metric
        and not by_metric[name]["relation"].isin([UNDECIDED, NOT_COMPARED]).all()
    ]
    if not (names := [*primary, *decided]):
        return None
    metric, own = named(names[0]), by_metric[names[0]]
    lines = {}
    if metric.name in (SPEED, END_TO_END) and rows["tuning"].iloc[0] != BOTH:
        lines = pairwise.lengths(by_metric.get(END_TO_END, own[:0]), tables.runs)
    turns = pairwise.quickest(lines)
    cautions = words.less_accurate(by_metric.get("test accuracy", own[:0]))
    if metric.name == SPEED:
        able = pairwise.contenders(own[own["relation"] != NOT_COMPARED])
        cautions = [*_machine_warnings(tables, own), *cautions, *words.contradiction(able, turns)]
    about = _lead(tables, rows), tables.name, "differences", pairwise.overall(own)
    picture = _picture(tables, own, lines, turns)
    return Answer(words.which_is_best(own, turns), *about, tuple(cautions), picture)


def _machine_warnings(tables: Tables, rows: pd.DataFrame) -> list[str]:
    """Return what disturbed the machine while the speeds of `rows` were measured."""
    machine = rows["machine"].iloc[0]
    timed = tables.rounds if len(tables.rounds) else tables.runs
    return footnotes.isolation(timed[timed["machine_name"] == machine] if machine else timed)


def _lead(tables: Tables, rows: pd.DataFrame) -> str:
    """The title, with the work, the tuning and the machine where the experiment has several."""
    workload, batch, tuning, machine = rows[_GROUP].iloc[0]
    works = tables.differences[WORK].drop_duplicates()
    about = [
        *([f"{workload}, batch {batch:,}"] if len(works) > 1 else []),
        *{TUNED: ["tuned"], BOTH: ["tuned and as installed"]}.get(tuning, []),
        *([machine] if len(set(tables.differences["machine"])) > 1 else []),
    ]
    return f"{tables.title} ({'; '.join(about)})" if about else tables.title


def _picture(
    tables: Tables,
    rows: pd.DataFrame,
    lines: dict[str, tuple[float, float]],
    turns: list[tuple[str, float]],
) -> Picture | None:
    """What the picture of verdicts on one metric shows; None where no two variants are compared."""
    pairs = rows.to_dict("records")
    compared = [row for row in pairs if row["relation"] != NOT_COMPARED]
    if not compared or rows["tuning"].iloc[0] == BOTH:
        return None
    able = list(dict.fromkeys(name for row in compared for name in (row["first"], row["second"])))
    ours = [name for name in able if name.partition(" (")[0] == tables.baseline]
    base, metric, speeds = (ours or able)[0], named(pairs[0]["metric"]), _speeds(tables, rows)
    none = 1.0 if metric.by_ratio else 0.0
    found = [Variant(base, BASELINE, speeds.get(base), none, None, None, *lines.get(base, ()))]
    for row in pairs:
        if base in (row["first"], row["second"]):
            name = row["second"] if row["first"] == base else row["first"]
            verdict, ends = words.beside_baseline(row, name), _of(name, row)
            found.append(Variant(name, verdict, speeds.get(name), *ends, *lines.get(name, ())))
    measured = words.where_measured(rows[rows["relation"] != NOT_COMPARED])
    if not (rows["family"] == "primary").any():
        measured += ", exploratory"
    found.sort(key=lambda one: math.inf if one.effect is None else -one.effect)
    about = metric.name, base, metric.by_ratio, metric.margin, measured
    return Picture(*about, found, turns)


def _of(name: str, row: dict[str, Any]) -> tuple[float | None, float | None, float | None]:
    """How much better a variant of a pair is than the other one, with the interval if that is finite."""
    effect, low, high = pairwise.oriented(row, name)
    bounded = math.isfinite(low) and math.isfinite(high) and (low > 0 or not row["ratio"])
    known = effect if math.isfinite(effect) else None
    return (known, low, high) if bounded else (known, None, None)


def _speeds(tables: Tables, rows: pd.DataFrame) -> dict[str, float]:
    """Examples/s by label, medians over contests or runs."""
    machine = rows["machine"].iloc[0]
    runs = dict(by_machine(tables.runs))[machine] if machine else tables.runs
    rounds = tables.rounds if len(tables.rounds) else None
    return {
        one.label: float(one.speeds.median())
        for one in series_of(runs, tables.labels, rounds)
        if len(one.speeds)
    }


def _undecided(tables: Tables, rows: pd.DataFrame) -> Iterator[Answer]:
    """What is open of speeds and times at the same work, and what lacks a speed."""
    speeds = rows[rows["metric"].isin([SPEED, END_TO_END])]
    sentences: list[str] = []
    lacking: dict[str, dict[str, None]] = {}
    parts = [speeds[:0]]
    for _, same in speeds[speeds["relation"] != NOT_COMPARED].groupby("metric", sort=False):
        among = same[same[["first", "second"]].isin(pairwise.contenders(same)).all(axis=1)]
        parts.append(among[among["relation"] == UNDECIDED])
    if len(undecided := pd.concat(parts)):
        sentences.append(words.undecided(undecided))
    states_here = {state.partition(" (")[0] for state in not_completed(tables.runs)}
    for row in speeds[speeds["metric"] == SPEED].to_dict("records"):
        for side in ("first", "second"):
            why = row[f"{side}_lacks"]
            if why and why.partition(" (")[0] not in states_here:
                lacking.setdefault(why, {})[row[side]] = None
    sentences += words.no_speed({why: [*labels] for why, labels in lacking.items()})
    for text in sentences:
        yield Answer(text, _lead(tables, rows), tables.name, "differences", UNDECIDED)


def _groups(table: pd.DataFrame, keys: list[str]) -> Iterator[pd.DataFrame]:
    if len(table):
        yield from (rows for _, rows in table.groupby(keys, sort=False))


def _not_run(tables: Tables) -> Iterator[Answer]:
    """What was not completed, and why: a sentence per reason."""
    by_state: dict[tuple[str, ...], list[str]] = {}
    for backend, part in tables.runs.groupby("backend", sort=False):
        if found := not_completed(part):
            by_state.setdefault(tuple(found), []).append(tables.labels.get(backend, backend))
    for found_states, labels in by_state.items():
        text = words.not_run(labels, found_states)
        yield Answer(text, tables.title, tables.name, "", NOT_RUN)


def _published(experiments: list[Tables]) -> Section:
    """The published runs, and counts that differ."""
    runs: list[PublishedRun] = []
    shown: list[Published] = []
    others: list[Answer] = []
    for tables in experiments:
        judged = [run for run in tables.published if run.numbers]
        runs += judged
        shown += [_shown(run, tables) for run in judged]
        for rows in _groups(tables.comparison, ["system"]):
            system = rows["system"].iloc[0]
            is_judged = system in {run.system for run in judged}
            if not is_judged and rows["verdict"].isin([NOT_COMPARABLE, ""]).all():
                about = system, NOT_COMPARABLE, NOT_COMPARABLE, tables.title, tables.name
                shown.append(Published(*about, why=words.commonest(rows)))
            others += [
                Answer(text, tables.title, tables.name, "comparison", DIFFERS)
                for text in words.other_counts(rows)
            ]
    shown.sort(key=lambda one: VERDICTS.index(one.verdict))
    return Section(HOLD, [Answer(words.published(runs)), *others], shown)


def _shown(run: PublishedRun, tables: Tables) -> Published:
    names = words.name_of_run(run), run.verdict, words.verdict_on_run(run)
    numbers = [_number(one) for one in run.numbers]
    about = f"{run.workload}, n = {run.numbers[0].n}"
    return Published(*names, tables.title, tables.name, numbers, about, words.differing(run))


def _number(one: Judgement) -> PublishedNumber:
    claim, ranges = one.claim, [ends for ends in one.ranges if all(map(math.isfinite, ends))]
    about = claim.metric, words.printed(claim), claim.value, one.verdict, words.distance(one)
    return PublishedNumber(*about, one.center, ranges)


def from_tables(
    titles: Sequence[str],
    runs: Sequence[Path],
    differences: Sequence[Path],
    comparisons: Sequence[Path],
    left_out: Sequence[str] = (),
    rounds: Sequence[Path] = (),
    labels: dict[str, str] | None = None,
    baseline: str = "",
) -> list[Section]:
    """The answers of files of tables.

    `titles`, `runs`: one per experiment, in order; of the other tables those there are, of comparisons with
    the JSON file beside. `left_out`: what was not asked for, in sentences. `labels`: by backend; `baseline`:
    a backend. Raises `UserError` if a file is no table.
    """
    pairs, published = (
        {path.parent: _read(path) for path in paths} for paths in (differences, comparisons)
    )
    judged = {path.parent: published_in(path.with_suffix(".json")) for path in comparisons}
    windows = {path.parent: tidy.read(path) for path in rounds}
    empty, labels, experiments = pd.DataFrame(), labels or {}, []
    for title, path in zip(titles, runs, strict=True):
        folder, base = path.parent, labels.get(baseline, baseline)
        own = pairs.get(folder, empty), published.get(folder, empty), judged.get(folder, [])
        about = windows.get(folder, empty), labels, base
        experiments.append(Tables(folder.name, title, tidy.read(path), *own, *about))
    return answers(experiments, left_out)


def _read(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a table ({error}); draw figures and tables first") from None
    texts = [name for name in _TEXTS if name in table]
    return table.astype(dict.fromkeys(texts, object)).fillna(dict.fromkeys(texts, ""))


def published_in(path: Path) -> list[PublishedRun]:
    """The published runs in the JSON file of a table."""
    try:
        found = json.loads(path.read_text("utf-8")).get("published_runs", [])
        return msgspec.convert(found, list[PublishedRun])
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a table ({error}); draw figures and tables first") from None


def read(path: Path) -> list[Section]:
    """The sections in a JSON file of `answer.py`. Raises `UserError` if it is not one."""
    try:
        return msgspec.convert(json.loads(path.read_text("utf-8")), list[Section])
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: no answers ({error}); run answer.py first") from None


def to_text(sections: list[Section], about: str) -> str:
    """The answers in Markdown, for the terminal: at most `LINES` lines of `WIDTH` characters.

    about: the machine, in one line. What has no room is counted.
    """
    blocks = [_wrapped(f"# {about}")]
    for section in sections:
        first, *more = section.answers
        left = LINES - sum(len(block) + 1 for block in blocks) - 1
        if section.heading in (ALSO, OPEN):
            most = left if section.heading == OPEN else _MORE
            texts = [one.paragraph for one in section.answers]
            blocks.append([f"## {section.heading}", *_bullets(texts, most)])
            continue
        lead = [first.lead] if first.lead else []
        said = [line for text in (*lead, first.text, *first.cautions) for line in _wrapped(text)]
        table = _table_of(section)
        others = [run.sentence for run in section.judged if run.said]
        others += [one.paragraph for one in more]
        # Two sections follow, each with a heading and a blank line.
        most = max(1, left - len(said) - len(table) - 2 * (_MORE + 2) - 3)
        shown = [f"## {section.heading}", *said], table, _bullets(others, most)
        blocks += filter(None, shown)
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _bullets(texts: list[str], most: int) -> list[str]:
    """Texts as a list of at most so many lines, the last of which counts what has no room."""
    lines: list[str] = []
    for at, text in enumerate(texts):
        own = _wrapped(text, "- ")
        if len(lines) + len(own) > most - (at < len(texts) - 1):
            return [*lines, f"- {len(texts) - at} more: index.html"]
        lines += own
    return lines


def _wrapped(text: str, sign: str = "") -> list[str]:
    return textwrap.wrap(f"{sign}{text}", WIDTH, subsequent_indent=" " * len(sign))


def _table_of(section: Section) -> list[str]:
    """The numbers of a section as a table: variants of its first question, or published runs."""
    most = _RUNS if section.judged else _ROWS
    if section.judged:
        metrics = dict.fromkeys(one.metric for each in section.judged for one in each.numbers)
        rows = [
            {
                "published run": each.name,
                **{words.noun(name): "" for name in metrics},
                **{words.noun(one.metric): one.printed for one in each.numbers},
                "verdict": each.verdict,
            }
            for each in section.judged
        ]
    elif picture := section.answers[0].picture:
        times = f"{'times' if picture.ratio else 'above'} {picture.baseline} [95 %]"
        rows = [
            {
                "variant": one.label,
                "examples/s": "" if one.speed is None else f"{one.speed:,.0f}",
                times: picture.effect_of(one),
                "verdict": one.verdict,
            }
            for one in picture.variants
        ]
    else:
        return []
    cells = _fitted(pd.DataFrame(rows[:most]))
    more = [f"{len(rows) - most} more: index.html"] if len(rows) > most else []
    return [*cells.to_markdown(index=False, disable_numparse=True).splitlines(), *more]


def _fitted(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells that are shortened, the widest column first, until a table of them has room on the terminal."""
    texts = {name: [name, *cells[name]] for name in cells}
    widths = {name: max(map(len, column)) for name, column in texts.items()}
    while sum(widths.values()) + 3 * len(widths) + 1 > WIDTH - 4:
        widths[max(widths, key=widths.__getitem__)] -= 1
    fitted = {
        name: [textwrap.shorten(text, widths[name], placeholder="…") for text in column]
        for name, column in texts.items()
    }
    return pd.DataFrame({column[0]: column[1:] for column in fitted.values()})
