"""Answers to the project's questions, as data: sentences, rows and where their evidence is; and their files.

Page, terminal, paper and JSON show these rows. Sentences are made in `sentences`.
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
from paragone.analysis.grouping import by_machine, not_completed, series_of
from paragone.analysis.pairwise import BOTH, CRITERIA, END_TO_END, NOT_COMPARED, SPEED, UNDECIDED
from paragone.analysis.prediction import DIFFERS, INCONCLUSIVE, NOT_COMPARABLE
from paragone.analysis.verdicts import FLAWED, VERDICTS, PublishedRun, still_differing
from paragone.base.errors import UserError
from paragone.config.questions import WORK
from paragone.config.run_spec import TUNED
from paragone.reporting import footnotes, sentences

HOLD = "Do the published results hold?"
ALSO = "Other questions, exploratory"
OPEN = "What is open, and what it takes"
LATER = (ALSO, OPEN)  # without an answer that stands apart
NOT_RUN = "not run"
BASELINE = "baseline"  # a verdict in the picture of a question
WIDTH, ROWS = 100, 9  # characters of a line on the terminal; rows of a table or list there
# Files of the tables of an experiment, by the fields of `Tables`.
FILES = {
    "runs": "runs.parquet",
    "rounds": "rounds.parquet",
    "differences": "differences.csv",
    "comparison": "comparison.csv",
    "published": "comparison.json",
}
_GROUP = [*WORK, "tuning", "machine"]


@dataclass(frozen=True)
class Tables:
    """The tables of an experiment: its runs, and what there is of `differences`, `comparison` and `rounds`.

    `published` has the runs that `comparison` judges, `labels` the label of each backend. Pictures are
    relative to the backend with the label `baseline`.
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
class VariantRow:
    """A variant in the picture of a question.

    speed: examples/s. effect, low, high: how much better than the baseline it is, with its 95 % interval:
    a ratio or a difference. verdict: `BASELINE`, or how it compares, as text.
    """

    label: str
    verdict: str
    speed: float | None = None
    effect: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Picture:
    """Variants beside the baseline.

    `metric` is the name of what is compared. `margin` is an effect that does not matter, as a ratio or a
    difference. `sample` says how many contests or pairs are behind it.
    """

    metric: str
    baseline: str
    ratio: bool
    margin: float
    sample: str
    variants: list[VariantRow]

    def effect_of(self, row: VariantRow) -> str:
        """Return the effect of a variant as text, with its interval."""
        if row.effect is None:
            return ""
        form = "{:,.2f}" if self.ratio else "{:,.3f}"
        return sentences.with_interval(form, row.effect, row.low, row.high)


@dataclass(frozen=True)
class PublishedNumber:
    """A final number of a published run, as `printed`: a row of the table `comparison`.

    One more run of the program would be in one of the `ranges`, around the `center` of its runs; none where
    that is not known. `text` says how far the number is from there.
    """

    metric: str
    printed: str
    value: float
    verdict: str
    text: str
    center: float
    ranges: list[tuple[float, float]]


@dataclass(frozen=True)
class PublishedRow:
    """A published run, or several of one program as a sample, and its verdict by its final numbers.

    `judged` is the verdict as text. `differing` says which numbers differ and to which side, `why` why it
    cannot be compared.
    """

    system: str
    verdict: str
    judged: str
    title: str
    experiment: str
    numbers: list[PublishedNumber] = field(default_factory=list)
    differing: str = ""
    why: str = ""

    @property
    def name(self) -> str:
        """Return the name of the run among those of all experiments."""
        return f"{self.system} ({self.title.partition(',')[0]})"

    @property
    def sentence(self) -> str:
        """Return the verdict on a published run, and in what it differs."""
        verb = sentences.JUDGED[self.verdict][0]
        return f"{self.name} {verb}{self.judged.removeprefix(self.verdict)}. {self.differing}"


@dataclass(frozen=True)
class Answer:
    """Sentences: the answer and its cautions, and where its evidence is.

    `lead` is the title of the experiment, `experiment` its name, `table` one of its tables.
    `outcome` is the verdict behind it, a relation of `analysis.pairwise` or `NOT_RUN`.
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
class AnsweredQuestion:
    """A question and its answers; `published` has the runs that can be judged, then the others."""

    heading: str
    answers: list[Answer]
    published: list[PublishedRow] = field(default_factory=list)

    @property
    def is_best(self) -> bool:
        """Return whether it asks for the best variant."""
        return self.heading not in (HOLD, *LATER)

    @property
    def judged(self) -> list[PublishedRow]:
        """Return the published runs that have a verdict."""
        return [run for run in self.published if run.verdict != NOT_COMPARABLE]


def answers(experiments: list[Tables], left_out: Sequence[str] = ()) -> list[AnsweredQuestion]:
    """Return the answers to both questions of the project, and what is open.

    `left_out` says what the config leaves out, in sentences.
    """
    best: list[Answer] = []
    unanswered: list[Answer] = []
    seen: set[tuple[Any, ...]] = set()
    # The question fixed beforehand comes first.
    for tables in sorted(
        experiments, key=lambda tables: "primary" not in {*tables.differences.get("family", ())}
    ):
        for rows in _groups(tables.differences, _GROUP):
            # Experiments share contests, whose speeds are compared once.
            speeds = rows["metric"] == SPEED
            pairs = rows[_GROUP].iloc[0], rows["first"], rows["second"], rows.loc[speeds, "effect"]
            key = tuple(value for part in pairs for value in part)
            new = rows[~speeds | (key not in seen)]
            seen.add(key)
            if answer := _best(tables, new):
                best.append(answer)
            unanswered += _undecided(tables, new)
        unanswered += _not_run(tables)
        unanswered += _not_compared(tables)
        unanswered += _inconclusive(tables)
    unanswered += map(Answer, left_out)
    first = best[:1] or [Answer(sentences.NOTHING_COMPARED)]
    return [
        *([AnsweredQuestion(_heading(first), first)] if seen else []),  # some pair is a question
        _published(experiments),
        *([AnsweredQuestion(ALSO, best[1:])] if best[1:] else []),
        AnsweredQuestion(OPEN, unanswered or [Answer("Nothing is open.")]),
    ]


def of_contests(
    title: str, rounds: pd.DataFrame, labels: dict[str, str], baseline: str = ""
) -> AnsweredQuestion:
    """Return what the contests of an experiment say of speeds, before its runs are trained.

    `rounds` is the table of their windows; `baseline` is a backend.
    """
    rows = pairwise.verdicts(rounds, labels).assign(family="primary", machine="")
    base = labels.get(baseline, baseline)
    tables = Tables("", title, rounds, rows, rounds=rounds, labels=labels, baseline=base)
    best = [answer for group in _groups(rows, _GROUP) if (answer := _best(tables, group))]
    given = best or [Answer("No contest times two of its variants.", title)]
    return AnsweredQuestion(_heading(given), given)


def _heading(given: Sequence[Answer]) -> str:
    """Return the question of which variant is best, by what the first answer compares."""
    picture = given[0].picture
    superlative = sentences.superlative(picture.metric if picture else SPEED)
    return f"Which variant {'trains' if superlative == 'fastest' else 'is'} {superlative} here?"


def _groups(table: pd.DataFrame, keys: list[str]) -> Iterator[pd.DataFrame]:
    if len(table):
        yield from (rows for _, rows in table.groupby(keys, sort=False))


def _best(tables: Tables, rows: pd.DataFrame) -> Answer | None:
    """Return the best variant at the same work on one machine; None where nothing is decided that is not of
    the primary family."""
    by_metric = dict(list(rows.groupby("metric", sort=False)))
    primary = rows.loc[rows["family"] == "primary", "metric"].unique()
    able = rows.loc[~rows["relation"].isin([UNDECIDED, NOT_COMPARED]), "metric"]
    decided = [name for name in (SPEED, END_TO_END) if (able == name).any()]
    if not (names := [*primary, *decided]):
        return None
    metric, pairs = names[0], by_metric[names[0]]
    none = pairs[:0]
    turns: list[tuple[str, float]] = []
    if metric in (SPEED, END_TO_END) and rows["tuning"].iloc[0] != BOTH:
        whole_runs = by_metric.get(END_TO_END, none)
        turns = pairwise.quickest(pairwise.lengths(whole_runs, tables.runs))
    cautions: list[str] = []
    if metric == SPEED:
        best = pairwise.contenders(pairs[pairs["relation"] != NOT_COMPARED])
        timed = tables.rounds if len(tables.rounds) else tables.runs
        if machine := rows["machine"].iloc[0]:
            timed = timed[timed["machine_name"] == machine]
        cautions = [*sentences.contradiction(best, turns), *footnotes.isolation(timed)]
    cautions += sentences.less_accurate(by_metric.get("test accuracy", none))
    text = sentences.which_is_best(pairs)
    return Answer(
        " ".join([text, *_between_releases(tables, pairs, text), *sentences.by_length(turns)]),
        _lead(tables, rows),
        tables.name,
        "differences",
        pairwise.overall(pairs),
        tuple(cautions),
        _picture(tables, pairs),
    )


def _between_releases(tables: Tables, pairs: pd.DataFrame, said: str) -> list[str]:
    """Return a sentence for each pair of versions of one backend, where several backends are compared.

    Of the best variants, and of what is `said` already, there is none.
    """
    backends = {label: name.partition(".")[0] for name, label in tables.labels.items()}
    labels = pairs[["first", "second"]].map(lambda label: label.partition(" (")[0])
    first, second = (labels[side].map(backends) for side in labels)
    if len({*first, *second}) == 1:
        return []
    best = pairwise.contenders(pairs[pairs["relation"] != NOT_COMPARED])
    are_best = pairs[["first", "second"]].isin(best).all(axis=1)
    are_releases = (first == second) & (labels["first"] != labels["second"])
    texts = sentences.on_pairs(pairs[are_releases & ~are_best])
    return [text for text in texts if text.split(" is ")[-1] not in said]


def _lead(tables: Tables, rows: pd.DataFrame) -> str:
    workload, batch, tuning, machine = rows[_GROUP].iloc[0]
    works = tables.differences[WORK].drop_duplicates()
    parts = [
        *([f"{workload}, batch {batch:,}"] if len(works) > 1 else []),
        *{TUNED: ["tuned"], BOTH: ["tuned and as installed"]}.get(tuning, []),
        *([machine] if len(set(tables.differences["machine"])) > 1 else []),
    ]
    return f"{tables.title} ({'; '.join(parts)})" if parts else tables.title


def _picture(tables: Tables, rows: pd.DataFrame) -> Picture | None:
    compared = rows[rows["relation"] != NOT_COMPARED]
    if compared.empty or rows["tuning"].iloc[0] == BOTH:
        return None
    able = dict.fromkeys(compared[["first", "second"]].to_numpy().ravel())
    of_baseline = [name for name in able if name.partition(" (")[0] == tables.baseline]
    base = [*of_baseline, *able][0]
    metric, speeds = CRITERIA[rows["metric"].iloc[0]], _speeds(tables, rows)
    no_effect = 1.0 if metric.by_ratio else 0.0
    variants = [VariantRow(base, BASELINE, speeds.get(base), no_effect)]
    for row in rows.to_dict("records"):
        if base in (row["first"], row["second"]):
            name = row["second"] if row["first"] == base else row["first"]
            verdict = sentences.beside_baseline(row, name)
            variants.append(VariantRow(name, verdict, speeds.get(name), *_effect(row, name)))
    variants.sort(key=lambda row: math.inf if row.effect is None else -row.effect)
    least, most = int(compared["n"].min()), int(compared["n"].max())
    unit = sentences.UNITS[compared["unit"].iloc[0]][most > 1]
    sample = f"{most} {unit}" if least == most else f"{least} to {most} {unit}"
    if not (rows["family"] == "primary").any():
        sample += ", exploratory"
    return Picture(metric.name, base, metric.by_ratio, metric.margin, sample, variants)


def _effect(row: dict[str, Any], name: str) -> tuple[float | None, float | None, float | None]:
    effect, low, high = pairwise.oriented(row, name)
    bounded = math.isfinite(low) and math.isfinite(high) and (low > 0 or not row["ratio"])
    value = effect if math.isfinite(effect) else None
    return (value, low, high) if bounded else (value, None, None)


def _speeds(tables: Tables, rows: pd.DataFrame) -> dict[str, float]:
    machine = rows["machine"].iloc[0]
    runs = dict(by_machine(tables.runs))[machine] if machine else tables.runs
    rounds = tables.rounds if len(tables.rounds) else None
    return {
        series.label: float(series.speeds.median())
        for series in series_of(runs, tables.labels, rounds)
        if len(series.speeds)
    }


def _undecided(tables: Tables, rows: pd.DataFrame) -> Iterator[Answer]:
    timed = rows[rows["metric"].isin([SPEED, END_TO_END])]
    among = [
        pairs[pairs[["first", "second"]].isin(pairwise.contenders(pairs)).all(axis=1)]
        for pairs in _groups(timed[timed["relation"] != NOT_COMPARED], ["metric"])
    ]
    undecided = pd.concat([timed[:0], *among])
    texts = sentences.undecided(undecided[undecided["relation"] == UNDECIDED])
    lacking: dict[str, dict[str, None]] = {}
    not_run = {state.partition(" (")[0] for state in not_completed(tables.runs)}
    for row in rows[rows["metric"] == SPEED].to_dict("records"):
        for side in ("first", "second"):
            why = row[f"{side}_lacks"]
            if why and why.partition(" (")[0] not in not_run:
                lacking.setdefault(why, {})[row[side]] = None
    texts += [
        sentences.without([*labels], ("has", "have"), f"no speed: {why}")
        for why, labels in lacking.items()
    ]
    for text in texts:
        yield Answer(text, _lead(tables, rows), tables.name, "differences", UNDECIDED)


def _not_run(tables: Tables) -> Iterator[Answer]:
    by_state: dict[str, list[str]] = {}
    for backend, runs in tables.runs.groupby("backend", sort=False):
        if states := "; ".join(not_completed(runs)):
            by_state.setdefault(states, []).append(tables.labels.get(backend, backend))
    for states, labels in by_state.items():
        text = sentences.without(labels, ("was", "were"), f"not run: {states}")
        yield Answer(text, tables.title, tables.name, outcome=NOT_RUN)


def _not_compared(tables: Tables) -> Iterator[Answer]:
    groups: dict[str, list[PublishedRun]] = {}
    for run in tables.published:
        if not run.numbers:
            groups.setdefault(repr((run.workload, run.lacks)), []).append(run)
    for runs in groups.values():
        epochs = max(sentences.epochs_lacking(runs[0].lacks), default=0)
        short = tables.runs[tables.runs["workload"] == runs[0].workload]
        short = short[(short["status"] == "completed") & (short["epochs"] < epochs)]
        seconds = epochs * (short["train_seconds"] + short["evaluate_seconds"]) / short["epochs"]
        text = sentences.not_compared(runs, seconds.astype("float64").sum(skipna=False))
        yield Answer(text, tables.title, tables.name, "comparison", NOT_COMPARABLE)


def _inconclusive(tables: Tables) -> Iterator[Answer]:
    if text := sentences.inconclusive(tables.published):
        yield Answer(text, tables.title, tables.name, "comparison", INCONCLUSIVE)


def _published(experiments: list[Tables]) -> AnsweredQuestion:
    runs = [run for tables in experiments for run in tables.published if run.numbers]
    still = still_differing(runs)
    rows: list[PublishedRow] = []
    counts: list[Answer] = []
    for tables in experiments:
        judged = [run for run in tables.published if run.numbers]
        rows += [_published_row(run, tables, run in still) for run in judged]
        for lines in _groups(tables.comparison, ["system"]):
            system = lines["system"].iloc[0]
            is_judged = system in {run.system for run in judged}
            if not is_judged and lines["verdict"].isin([NOT_COMPARABLE, FLAWED, ""]).all():
                names = system, NOT_COMPARABLE, NOT_COMPARABLE, tables.title, tables.name
                rows.append(PublishedRow(*names, why=sentences.commonest(lines)))
            counts += [
                Answer(text, tables.title, tables.name, "comparison", DIFFERS)
                for text in sentences.differing_counts(lines)
            ]
    rows.sort(key=lambda row: VERDICTS.index(row.verdict))
    return AnsweredQuestion(HOLD, [Answer(sentences.published(runs)), *counts], rows)


def _published_row(run: PublishedRun, tables: Tables, still: bool) -> PublishedRow:
    """Return the row of a run; `still`: it differs if all runs are adjusted for each other, too."""
    numbers = [
        PublishedNumber(
            number.claim.name,
            number.claim.printed or f"{number.claim.value:g}",
            number.claim.value,
            number.verdict,
            sentences.distance(number),
            number.center,
            [ends for ends in number.ranges if all(map(math.isfinite, ends))],
        )
        for number in run.numbers
    ]
    judged = run.verdict
    if run.verdict == DIFFERS and not still:
        judged += "; not if all runs are adjusted for each other"
    if run.explanation is not None:
        workload, verdict = run.explanation
        judged += f"; {sentences.JUDGED[verdict][0]} as {workload}"
    system = run.system if run.count == 1 else f"The mean of {run.count} published runs"
    return PublishedRow(
        f"{system}, {sentences.reason(('log_ends', *run.ends))}" if run.ends else system,
        run.verdict,
        judged,
        tables.title,
        tables.name,
        numbers,
        sentences.differing(run),
    )


# Files


def from_tables(
    titles: dict[str, str],
    paths: Sequence[Path],
    labels: dict[str, str],
    baseline: str = "",
    left_out: Sequence[str] = (),
) -> list[AnsweredQuestion]:
    """Return the answers of files of tables, of `FILES`, each in a folder with the name of its experiment.

    `titles` are by experiment, `labels` by backend; `baseline` is a backend. `left_out` says what the config
    leaves out, in sentences. Raises `UserError` if a file is no table.
    """
    shared: dict[str, Any] = {"labels": labels, "baseline": labels.get(baseline, baseline)}
    experiments = []
    for name, title in titles.items():
        folder = {path.name: path for path in paths if path.parent.name == name}
        tables = {kind: read_table(folder[file]) for kind, file in FILES.items() if file in folder}
        if "runs" in tables:
            experiments.append(Tables(name, title, **tables, **shared))
    return answers(experiments, left_out)


def read_table(path: Path) -> Any:
    """Return a table of `FILES`, or the published runs of one. Raises `UserError` if the file is neither."""
    if path.suffix == ".parquet":
        return tidy.read(path)
    try:
        if path.suffix == ".json":
            runs = json.loads(path.read_text("utf-8")).get("published_runs", [])
            return msgspec.convert(runs, list[PublishedRun])
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a table ({error}); draw figures and tables first") from None
    # Empty cells of these columns are empty texts.
    texts = ["winner", "first_lacks", "second_lacks", "why", "unit", "family", "verdict", "runs"]
    texts = [name for name in texts if name in table]
    return table.astype(dict.fromkeys(texts, object)).fillna(dict.fromkeys(texts, ""))


def read(path: Path) -> list[AnsweredQuestion]:
    """Return the questions in a JSON file of `answer.py`. Raises `UserError` if it is not one."""
    try:
        return msgspec.convert(json.loads(path.read_text("utf-8")), list[AnsweredQuestion])
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: no answers ({error}); run answer.py first") from None


def to_text(questions: list[AnsweredQuestion], headline: str) -> str:
    """Return the answers in Markdown, for the terminal: the first `ROWS` of each table and list.

    `headline` names the machine, in one line.
    """
    blocks = [f"# {headline}"]
    for question in questions:
        blocks.append(f"## {question.heading}")
        listed = question.answers
        if question.heading not in LATER:
            first, *listed = question.answers
            lines = filter(None, [first.lead, first.text, *first.cautions])
            blocks.append("\n".join(map(_wrapped, lines)))
        if len(rows := table(question)):
            text = rows.head(ROWS).to_markdown(index=False, disable_numparse=True)
            blocks.append("\n".join([text, *_more(len(rows))]))
        differing = [run.sentence for run in question.judged if run.differing]
        texts = [*differing, *(answer.paragraph for answer in listed)]
        bullets = [_wrapped(text, "- ") for text in texts[:ROWS]]
        if bullets:
            blocks.append("\n".join([*bullets, *_more(len(texts), "- ")]))
    return "\n\n".join(blocks) + "\n"


def in_one_line(title: str, questions: list[AnsweredQuestion]) -> str:
    """Return what the tables of one experiment say: what is decided, else what is open.

    Empty where they neither compare variants nor published numbers.
    """
    asked = [part for part in questions if part.is_best or part.published]
    decided = [part.answers[0] for part in asked if part.answers[0].outcome or part.judged]
    texts = [answer.text for answer in decided or questions[-1].answers[:1] if asked]
    return Answer(" ".join(texts), title).paragraph if asked else ""


def _more(count: int, sign: str = "") -> list[str]:
    return [f"{sign}{count - ROWS} more: index.html"] if count > ROWS else []


def _wrapped(text: str, sign: str = "") -> str:
    return textwrap.fill(f"{sign}{text}", WIDTH, subsequent_indent=" " * len(sign))


def table(question: AnsweredQuestion) -> pd.DataFrame:
    """Return published runs, or the variants of the first question, as text."""
    if listed := question.published if len(question.published) <= ROWS else question.judged:
        metrics = dict.fromkeys(number.metric for run in listed for number in run.numbers)
        return pd.DataFrame(
            {"published run": run.name}
            | dict.fromkeys(map(sentences.noun, metrics), "")
            | {sentences.noun(number.metric): number.printed for number in run.numbers}
            | {"verdict": run.verdict}
            for run in listed
        )
    picture = question.answers[0].picture
    if not question.is_best or picture is None:
        return pd.DataFrame()
    effect = f"{'times' if picture.ratio else 'above'} {picture.baseline} [95 %]"
    return pd.DataFrame(
        {
            "variant": row.label,
            "examples/s": "" if row.speed is None else f"{row.speed:,.0f}",
            effect: picture.effect_of(row),
            "verdict": row.verdict,
        }
        for row in picture.variants
    )
