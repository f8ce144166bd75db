"""Published numbers and runs against the measured ones: the corresponding runs, verdicts, and why."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean
from typing import Any

import pandas as pd

from paragone.analysis.cells import QUANTITIES, Cell, Missing, pick
from paragone.analysis.grouping import Series
from paragone.analysis.prediction import (
    AT_CHANCE,
    CONSISTENT,
    DIFFERS,
    FEWEST_RUNS,
    HOLDS,
    NO_RUNS,
    NOT_COMPARABLE,
    Claim,
    Judgement,
    Reason,
    adjusted,
    judge,
    judge_sample,
)
from paragone.analysis.published import OUTCOMES, Spread
from paragone.analysis.statistics import ALPHA, Summary, summarize
from paragone.config.numbers import Protocol, Row
from paragone.config.schema import Margin

# The verdict of several, from what speaks most against the published numbers on.
VERDICTS = (AT_CHANCE, DIFFERS, CONSISTENT, HOLDS, NOT_COMPARABLE)
# Losses and accuracies of one published run are correlated over its epochs: the final ones are the question.
FINAL = ("test_accuracy", "test_loss", "train_loss")
_OF_OTHER_TASKS = ("test_f1", "test_r2", "test_mae", "test_perplexity")  # likewise


@dataclass(frozen=True)
class Evidence:
    """What published numbers are judged by: protocols by system, margins by metric, spreads by workload."""

    protocols: Mapping[str, Protocol]
    margins: Mapping[str, Margin] = field(default_factory=dict)
    spreads: Mapping[str, Spread] = field(default_factory=dict)

    def spread_of(self, system: str) -> Spread | None:
        """The committed spread of what a system trained, if there is one."""
        protocol = self.protocols.get(system)
        return self.spreads.get(protocol.workload) if protocol else None


@dataclass(frozen=True)
class Measured:
    """A measured value of `n` runs, to be shown with so many `digits`.

    With an interval from `low` to `high`, NaN where there is none. `remark`: which value it is, if not that
    of the published epoch.
    """

    value: float
    digits: int
    n: int
    low: float = math.nan
    high: float = math.nan
    unit: str = ""
    remark: Reason = ()


@dataclass(frozen=True)
class Finding:
    """One published row against one column of the comparison.

    `reasons`: for the verdict. `caveats`: differences that do not change it, but that a reader must know of.
    `measured`: None where there is no value. `runs`: the names of the measured runs. `judgement`: what is
    behind the verdict of a loss or accuracy. `has_runs`: whether any run could be compared, had it other
    data, length or hardware.
    """

    verdict: str
    reasons: tuple[Reason, ...] = ()
    measured: Measured | None = None
    caveats: tuple[Reason, ...] = ()
    runs: tuple[str, ...] = ()
    judgement: Judgement | None = None
    has_runs: bool = True


@dataclass(frozen=True)
class Number:
    """One final number of a published run against the runs of its program: a row of the forest plot.

    What prints as `published` lies within `rounding` of it. One more run of the program is expected between
    `low` and `high`, around the `center` of its `n` runs. `margin`: the difference that does not matter, 0
    where there is none. `p`: of "one more run of this program", adjusted for the numbers of the published
    run; the interval has the same level, so that a number differs exactly where it lies outside, and no
    outcome of a stuck seed is `near`. `noticed`: the difference that the test finds in 80 % of cases.
    `is_equal`: within the margin, whether or not the number differs. `verdict`: `HOLDS`, `CONSISTENT`,
    `DIFFERS` or `AT_CHANCE`.
    """

    metric: str
    published: float
    rounding: float
    center: float
    low: float
    high: float
    n: int
    margin: float
    p: float
    noticed: float
    verdict: str
    bound: str = ""
    is_equal: bool = False
    near: tuple[float, ...] = ()

    @property
    def ranges(self) -> list[tuple[float, float]]:
        """Where one more run would be: `low` to `high`, and as far around each outcome that is `near`."""
        half = (self.high - self.low) / 2
        return [(self.low, self.high), *((one - half, one + half) for one in self.near)]

    @classmethod
    def of(cls, one: Judgement) -> "Number":
        """The number that a judgement is about."""
        about = {**vars(one.claim), "published": one.claim.value}
        of_runs = {name: getattr(one, name) for name in _OF_NUMBER if name not in about}
        return cls(**of_runs, **{name: about[name] for name in _OF_NUMBER if name in about})


_OF_NUMBER = [each.name for each in fields(Number)]


@dataclass(frozen=True)
class Curve:
    """The published epochs of a run: `inside` of `inside_of` outcomes lie where 95 % of runs would be.

    `as_few`: how many of the `as_few_of` runs, the committed ones and the published one, have as few inside.
    `verdict`: `CONSISTENT` with one more run, or `DIFFERS`.
    """

    inside: int
    inside_of: int
    as_few: int
    as_few_of: int
    verdict: str


@dataclass(frozen=True)
class PublishedRun:
    """One published run and its verdict, by its final `numbers`: those that can be compared.

    `system`: which run, as the source names it; `workload`: the program; `judge`: the label of the series
    whose runs are at hand. `count`: several published runs of one program that are judged as a sample; the
    numbers are means. `curve`: None where epochs are not published or no spread is committed. `explanation`:
    where the run differs, the same one judged by the committed runs of the second workload that its protocol
    names, if it is consistent with these.
    """

    system: str
    workload: str
    judge: str
    verdict: str
    numbers: tuple[Number, ...] = ()
    curve: Curve | None = None
    explanation: "PublishedRun | None" = None
    count: int = 1


@dataclass(frozen=True)
class Comparison:
    """All published rows against all series.

    `findings`: by label, of each row. `judged`: the label of the series that judges, and its finding, of each
    row. `families`: "final" of the last numbers of a run, "curve" of its others, empty of all else. `runs`:
    the published ones. `samples`: several of one program, and the judgements of their means.
    """

    findings: list[dict[str, Finding]]
    judged: list[tuple[str, Finding]]
    families: list[str]
    runs: list[PublishedRun]
    samples: list[tuple[PublishedRun, list[Judgement]]]


def compare_all(
    rows: Sequence[Row], evidence: Evidence, sweeps: Sequence[Series], epochs: pd.DataFrame
) -> Comparison:
    """Judge each row by each series, and each published run by its final numbers."""
    findings = [
        {sweep.label: compare(row, evidence, sweep.runs, epochs) for sweep in sweeps}
        for row in rows
    ]
    judged = []
    for row, by_label in zip(rows, findings, strict=True):
        # The series that judges a row is that of the backend of the committed spread.
        backend = spread.backend if (spread := evidence.spread_of(row.system)) else None
        designated = next((each.label for each in sweeps if each.backend == backend), None)
        judged.append(overall(by_label, designated))
    families = ["curve" if row.metric in OUTCOMES else "" for row in rows]
    runs, found = [], {}
    for system, places in finals(rows).items():
        for place in places:
            families[place] = "final"
        found[system] = _adjust(judged, places)
        finals_of_run = [judged[place] for place in places]
        run = _published_run(system, evidence, finals_of_run, found[system])
        curve = _curve(system, rows, judged, evidence) if run.numbers else None
        runs.append(replace(run, curve=curve))
    return Comparison(findings, judged, families, runs, _samples(runs, found, evidence))


def finals(rows: Sequence[Row]) -> dict[str, list[int]]:
    """The places of the final rows of each system: the last of test accuracy, test loss and training loss."""
    found: dict[str, list[int]] = {}
    for metric in (*_OF_OTHER_TASKS, *FINAL):
        of_metric = [place for place, row in enumerate(rows) if row.metric == metric and row.epoch]
        last = {rows[at].system: at for at in sorted(of_metric, key=lambda at: rows[at].epoch or 0)}
        for system, place in last.items():
            found.setdefault(system, []).append(place)
    return found


def _adjust(judged: list[tuple[str, Finding]], places: list[int]) -> list[Judgement]:
    """Adjust the verdicts on the numbers of one published run, in `judged`, for how many they are."""
    able = {place: one for place in places if (one := judged[place][1].judgement)}
    numbers = adjusted([*able.values()])
    for place, one in zip(able, numbers, strict=True):
        label, finding = judged[place]
        measured = within(finding.measured, one) if finding.measured else None
        found = replace(finding, verdict=one.verdict, measured=measured, judgement=one)
        judged[place] = label, found
    return numbers


def _published_run(
    system: str, evidence: Evidence, judged: list[tuple[str, Finding]], found: list[Judgement]
) -> PublishedRun:
    """A published run by its final numbers, adjusted; explained by another workload where it differs."""
    protocol = evidence.protocols[system]
    if not found:
        return PublishedRun(system, protocol.workload, judged[0][0], NOT_COMPARABLE)
    label = next(label for label, finding in judged if finding.judgement)
    run = _run_of(system, protocol.workload, label, found)
    spread = evidence.spreads.get(protocol.second_workload)
    if run.verdict != DIFFERS or spread is None:
        return run
    claims = [one.claim for one in found]
    again = [judge(each, NO_RUNS, spread.values(each.metric, each.epoch)) for each in claims]
    other = _run_of(system, protocol.second_workload, "", adjusted(again))
    return replace(run, explanation=other if other.verdict in (HOLDS, CONSISTENT) else None)


def _run_of(
    system: str, workload: str, label: str, found: Sequence[Judgement], count: int = 1
) -> PublishedRun:
    """A published run whose verdict is what speaks most against it of its numbers."""
    numbers = tuple(map(Number.of, found))
    verdict = min((one.verdict for one in numbers), key=VERDICTS.index, default=NOT_COMPARABLE)
    return PublishedRun(system, workload, label, verdict, numbers, count=count)


def _curve(
    system: str, rows: Sequence[Row], judged: list[tuple[str, Finding]], evidence: Evidence
) -> Curve | None:
    """How the outcomes of a system over all epochs lie together among the committed runs."""
    spread = evidence.spread_of(system)
    published = {
        (row.metric, row.epoch): row.number
        for row, (_, finding) in zip(rows, judged, strict=True)
        if row.system == system and finding.judgement and not row.bound
        if spread and row.epoch and row.epoch <= spread.rows["epoch"].max()
    }
    if not spread or len(published) <= len(FINAL):
        return None
    inside, as_few, of = spread.inside(published)
    verdict = DIFFERS if as_few / of <= ALPHA else CONSISTENT
    return Curve(inside, len(published), as_few, of, verdict)


def _samples(
    runs: list[PublishedRun], found: dict[str, list[Judgement]], evidence: Evidence
) -> list[tuple[PublishedRun, list[Judgement]]]:
    """Several published runs of one protocol, as a sample: their means against ours."""
    programs: dict[str, list[PublishedRun]] = {}
    for run in runs:
        if run.numbers:
            programs.setdefault(repr(evidence.protocols[run.system]), []).append(run)
    samples = []
    for same in programs.values():
        if len(same) >= FEWEST_RUNS:
            numbers = adjusted(_means([found[run.system] for run in same]))
            about = same[0].system, same[0].workload, same[0].judge
            samples.append((_run_of(*about, numbers, len(same)), numbers))
    return samples


def _means(found: list[list[Judgement]]) -> list[Judgement]:
    """The means of several published runs, judged, of the metrics that all of them have."""
    means = []
    for one in found[0]:
        metric = one.claim.metric
        claims = [each.claim for run in found for each in run if each.claim.metric == metric]
        if len(claims) == len(found) and not one.claim.bound:
            values = [claim.value for claim in claims]
            mean = replace(
                one.claim,
                value=fmean(values),
                margin=fmean(claim.margin for claim in claims),
                rounding=max(claim.rounding for claim in claims),
                at_chance=any(claim.at_chance for claim in claims),
            )
            means.append(judge_sample(mean, values, one))
    return means


def runs_in(comparison: pd.DataFrame) -> list[PublishedRun]:
    """The published runs of a table `comparison`, without their curves, and samples of several of them."""
    final = comparison[comparison["run_verdict"] != ""]
    found = []
    for (system, count), rows in final.groupby(["system", "published_runs"], sort=False):
        judged = rows[rows["n"].notna()]
        judged = judged.assign(published=judged["value"], near=judged["near"].map(numbers_in))
        numbers = [Number(**row) for row in judged[_OF_NUMBER].to_dict("records")]
        first = (judged if numbers else rows).iloc[0]
        about = system, first["workload"], first["judge"], first["run_verdict"]
        run = PublishedRun(*about, tuple(numbers), count=int(count))
        if first["explanation"]:
            other = PublishedRun(system, first["explanation"], "", first["explained"])
            run = replace(run, explanation=other)
        found.append(run)
    return found


def numbers_in(cell: Any) -> tuple[float, ...]:
    """Return the numbers in a cell of a table, which spaces separate; none in an empty cell."""
    return () if pd.isna(cell) else tuple(map(float, str(cell).split()))


def compare(row: Row, evidence: Evidence, runs: pd.DataFrame, epochs: pd.DataFrame) -> Finding:
    """Judge `row` by those of `runs` that share its workload, batch and replicas.

    Losses and accuracies under the same protocol are judged by `prediction.judge`, counts by equality.
    What depends on the hardware, another protocol or other data is not comparable.
    """
    quantity = QUANTITIES.get(row.metric)
    protocol = evidence.protocols.get(row.system)
    if quantity is None or protocol is None or (row.epoch is None and quantity.needs_epoch):
        return Finding(NOT_COMPARABLE, (("no_quantity",),))
    try:
        cell = pick(row, protocol, runs, epochs, exact=quantity.exact)
        values = quantity.values(cell, row).dropna()
    except Missing as missing:
        return Finding(NOT_COMPARABLE, (missing.reason,), has_runs=missing.has_runs)
    if values.empty:
        return Finding(NOT_COMPARABLE, (("no_parity",) if quantity.hardware else ("not_finite",),))
    summary, used = summarize(values), tuple(cell.runs["run"])
    measured = summarized(summary, quantity.digits, quantity.unit)
    if obstacles := quantity.obstacles(cell, row):
        measured = replace(measured, remark=quantity.remark(cell, row))
        return Finding(NOT_COMPARABLE, tuple(obstacles), measured, runs=used)
    caveats = tuple(cell.caveats(row))
    if row.metric not in OUTCOMES:
        verdict, reason = _judge_count(row, summary)
        return Finding(verdict, (reason,), measured, caveats, used)
    spread, committed = evidence.spreads.get(protocol.workload), NO_RUNS
    if spread and spread.fits(cell.epochs):
        committed = spread.values(row.metric, cell.epoch_of(row))
    found = judge(_claim(row, cell, evidence), values, committed)
    measured = Measured(float(values.mean()), 4, len(values))
    if found.verdict == NOT_COMPARABLE:
        return Finding(NOT_COMPARABLE, (found.why,), measured, caveats, used)
    caveats += (found.why,) if found.why else ()
    caveats += (("stuck", found.stuck),) if found.stuck else ()
    return Finding(found.verdict, (), within(measured, found), caveats, used, found)


def summarized(summary: Summary, digits: int, unit: str = "") -> Measured:
    """A median, with its interval if that has a width."""
    measured = Measured(summary.median, digits, summary.n, unit=unit)
    if summary.low < summary.high:
        return replace(measured, low=summary.low, high=summary.high)
    return measured


def overall(findings: dict[str, Finding], judge_label: str | None = None) -> tuple[str, Finding]:
    """The designated column that judges, and its finding; the others are only shown.

    Columns train with the same seeds, so they are no repeats of each other. `judge_label` if that could be
    compared, else the first that could.
    """
    able = [label for label, finding in findings.items() if finding.verdict != NOT_COMPARABLE]
    label = judge_label if judge_label in able else (able or list(findings))[0]
    return label, findings[label]


def within(measured: Measured, found: Judgement) -> Measured:
    """A measured value, with the interval of one more run."""
    return replace(measured, low=found.low, high=found.high)


def _claim(row: Row, cell: Cell, evidence: Evidence) -> Claim:
    """A published outcome, with what does not matter of the range that it has been learned in.

    At chance are all outcomes of a split on which an accuracy or F1, ours or the published one, is not above
    that of the best constant answer by more than the margin; or R², above 0.
    """
    split, _, name = row.metric.partition("_")
    of_numbers = not math.isnan(variance := float(cell.runs[f"{split}_variance"].max()))
    several = (cell.runs["task"] == "multi-label").all()
    score = f"{split}_{'r2' if of_numbers else 'f1' if several else 'accuracy'}"
    chance = 0.0 if of_numbers else float(cell.runs[f"{split}_majority"].max())
    reached = float(cell.at(row)[score].mean())
    unit = 1.0
    if row.metric == score:
        reached, reach = min(reached, row.number), 1 - chance
    elif of_numbers:
        # Always saying the mean has an absolute error of at most the deviation.
        reach = {"mae": math.sqrt(variance), "loss": variance}[name] - row.number
    elif name == "perplexity":
        unit, reach = row.number, -math.log(chance) - math.log(row.number)
    else:
        guessing = float(cell.runs[f"{split}_guessing_loss"].max())
        # Of guessing by the shares of the classes: their entropy, of which the latter is a lower bound.
        reach = (-math.log(chance) if math.isnan(guessing) else guessing) - row.number
    at_chance = reached <= chance + evidence.margins[score].of(1 - chance)
    about = row.metric, cell.epoch_of(row), row.rounding, row.bound, at_chance
    return Claim(row.number, unit * evidence.margins[row.metric].of(reach), *about)


def _judge_count(row: Row, summary: Summary) -> tuple[str, Reason]:
    difference = summary.median - row.number
    if row.metric.startswith("target_"):
        if abs(difference) < 1e-9:
            return HOLDS, ("target",)
        return NOT_COMPARABLE, ("other_target", summary.median, row.value)
    if difference == 0:
        return HOLDS, ("equal",)
    return DIFFERS, ("count", round(difference))
