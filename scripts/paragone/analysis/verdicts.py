"""Published numbers and runs against the measured ones: the corresponding runs, verdicts, and why."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import pandas as pd

from paragone.analysis.cells import QUANTITIES, Counterpart, Missing, pick
from paragone.analysis.grouping import Series
from paragone.analysis.prediction import (
    AT_CHANCE,
    CONSISTENT,
    DIFFERS,
    FEWEST_RUNS,
    HOLDS,
    NO_RUNS,
    NOT_COMPARABLE,
    OUTCOMES,
    Claim,
    Judgement,
    Reason,
    Spread,
    adjusted,
    judge,
    judge_sample,
)
from paragone.analysis.statistics import ALPHA, Estimate, summarize
from paragone.config.numbers import Protocol, Row
from paragone.config.schema import Margin

# From worst to best; the verdict of a run is the worst of its numbers'.
VERDICTS = (AT_CHANCE, DIFFERS, CONSISTENT, HOLDS, NOT_COMPARABLE)
# Losses and accuracies of one published run are correlated over its epochs: the final ones are the question.
FINAL = ("test_accuracy", "test_loss", "train_loss")
_OF_OTHER_TASKS = ("test_f1", "test_r2", "test_mae", "test_perplexity")


@dataclass(frozen=True)
class Evidence:
    """What published numbers are judged by: protocols by system, margins by metric, spreads by workload."""

    protocols: Mapping[str, Protocol]
    margins: Mapping[str, Margin] = field(default_factory=dict)
    spreads: Mapping[str, Spread] = field(default_factory=dict)

    def spread_of(self, system: str) -> Spread | None:
        """Return the committed spread of what a system trained, if there is one."""
        protocol = self.protocols.get(system)
        return self.spreads.get(protocol.workload) if protocol else None


@dataclass(frozen=True)
class Measured:
    """A measured value of `n` runs, to be shown with so many `digits`.

    `low`, `high`: the ends of its interval, NaN where there is none. `remark`: which value it is, if not that
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

    `reasons`: for the verdict. `caveats`: differences that do not change it, but that a reader must know.
    `measured`: None where there is no value. `runs`: the names of the measured runs. `judgement`: the numbers
    behind the verdict on a loss or accuracy. `has_runs`: False if no run matches even when data, length and
    hardware are ignored.
    """

    verdict: str
    reasons: tuple[Reason, ...] = ()
    measured: Measured | None = None
    caveats: tuple[Reason, ...] = ()
    runs: tuple[str, ...] = ()
    judgement: Judgement | None = None
    has_runs: bool = True


@dataclass(frozen=True)
class Curve:
    """The published epochs of a run: `inside` of `inside_of` outcomes lie where 95 % of runs would be.

    `as_few` of `as_few_of` runs (the committed ones plus the published one) have no more outcomes inside.
    """

    inside: int
    inside_of: int
    as_few: int
    as_few_of: int

    @property
    def verdict(self) -> str:
        """`CONSISTENT` with one more run, or `DIFFERS`."""
        return DIFFERS if self.as_few / self.as_few_of <= ALPHA else CONSISTENT


@dataclass(frozen=True)
class PublishedRun:
    """One published run by its final `numbers`: those that can be compared, adjusted for how many they are.

    `system`: which run, as the source names it; `workload`: the program; `judge`: the label of the series
    whose runs are at hand. `count`: several published runs of one program that are judged as a sample; the
    numbers are means. `curve`: None where epochs are not published or no spread is committed. `explanation`:
    where the run differs, the second workload that its protocol names, and the verdict by the committed runs
    of that, if it is consistent with these.
    """

    system: str
    workload: str
    judge: str
    numbers: tuple[Judgement, ...] = ()
    curve: Curve | None = None
    explanation: tuple[str, str] | None = None
    count: int = 1

    @property
    def verdict(self) -> str:
        """The worst verdict among its numbers."""
        return _overall(self.numbers)


@dataclass
class Line:
    """One published row against all series.

    `findings`: by label. `judge`: the label of the series that judges, and its `finding`. `family`: "final"
    for a run's last numbers, "curve" for its earlier ones, "" otherwise.
    """

    row: Row
    findings: dict[str, Finding]
    judge: str
    finding: Finding
    family: str


@dataclass(frozen=True)
class Comparison:
    """All published rows against all series, the published runs, and several of one program as samples."""

    lines: list[Line]
    runs: list[PublishedRun]
    samples: list[PublishedRun]


def compare_all(
    rows: Sequence[Row], evidence: Evidence, sweeps: Sequence[Series], epochs: pd.DataFrame
) -> Comparison:
    """Judge each row by each series, and each published run by its final numbers."""
    lines = []
    for row in rows:
        findings = {sweep.label: compare(row, evidence, sweep.runs, epochs) for sweep in sweeps}
        # The series that judges a row is that of the backend of the committed spread.
        backend = spread.backend if (spread := evidence.spread_of(row.system)) else None
        designated = next((sweep.label for sweep in sweeps if sweep.backend == backend), None)
        family = "curve" if row.metric in OUTCOMES else ""
        lines.append(Line(row, findings, *overall(findings, designated), family))
    runs = [
        _published_run(system, evidence, [lines[place] for place in sorted(places)], lines)
        for system, places in finals(rows).items()
    ]
    return Comparison(lines, runs, _samples(runs, evidence))


def finals(rows: Sequence[Row]) -> dict[str, list[int]]:
    """Return the places of each system's final rows: the last of test accuracy, test loss, training loss."""
    final: dict[str, list[int]] = {}
    for metric in (*_OF_OTHER_TASKS, *FINAL):
        of_metric = [place for place, row in enumerate(rows) if row.metric == metric and row.epoch]
        last = {rows[at].system: at for at in sorted(of_metric, key=lambda at: rows[at].epoch or 0)}
        for system, place in last.items():
            final.setdefault(system, []).append(place)
    return final


def _published_run(
    system: str, evidence: Evidence, final: list[Line], lines: list[Line]
) -> PublishedRun:
    """Judge a published run by its `final` lines; verdicts are adjusted for how many numbers it has."""
    protocol = evidence.protocols[system]
    for line in final:
        line.family = "final"
    able = [line for line in final if line.finding.judgement]
    judgements = [line.finding.judgement for line in final]
    numbers = adjusted([judgement for judgement in judgements if judgement])
    for line, number in zip(able, numbers, strict=True):
        measured = within(line.finding.measured, number) if line.finding.measured else None
        line.finding = replace(
            line.finding, verdict=number.verdict, measured=measured, judgement=number
        )
        line.findings[line.judge] = line.finding
    judge_label = able[0].judge if able else final[0].judge
    curve = _curve(system, lines, evidence)
    run = PublishedRun(system, protocol.workload, judge_label, tuple(numbers), curve)
    second = protocol.second_workload
    if run.verdict == DIFFERS and (spread := evidence.spreads.get(second)):
        claims = [number.claim for number in numbers]
        again = [
            judge(claim, NO_RUNS, spread.values(claim.metric, claim.epoch)) for claim in claims
        ]
        if (verdict := _overall(adjusted(again))) in (HOLDS, CONSISTENT):
            return replace(run, explanation=(second, verdict))
    return run


def _overall(numbers: Sequence[Judgement]) -> str:
    """Return the worst verdict among the numbers of a published run."""
    verdicts = (number.verdict for number in numbers)
    return min(verdicts, key=VERDICTS.index, default=NOT_COMPARABLE)


def _curve(system: str, lines: list[Line], evidence: Evidence) -> Curve | None:
    """Count the outcomes of a system, over all epochs, that lie where those of committed runs do."""
    spread = evidence.spread_of(system)
    published = {
        (line.row.metric, line.row.epoch): line.row.number
        for line in lines
        if line.row.system == system and line.finding.judgement and not line.row.bound
        if spread and line.row.epoch and line.row.epoch <= spread.rows["epoch"].max()
    }
    if not spread or len(published) <= len(FINAL):
        return None
    inside, as_few, runs = spread.inside(published)
    return Curve(inside, len(published), as_few, runs)


def _samples(runs: list[PublishedRun], evidence: Evidence) -> list[PublishedRun]:
    """Judge several published runs of one protocol as a sample: their means against ours."""
    programs: dict[str, list[PublishedRun]] = {}
    for run in runs:
        if run.numbers:
            programs.setdefault(repr(evidence.protocols[run.system]), []).append(run)
    return [
        replace(sample[0], numbers=_means(sample), curve=None, explanation=None, count=len(sample))
        for sample in programs.values()
        if len(sample) >= FEWEST_RUNS
    ]


def _means(runs: list[PublishedRun]) -> tuple[Judgement, ...]:
    """Judge the means of several published runs, by the metrics that all of them have."""
    means = []
    for first in runs[0].numbers:
        numbers = [number.claim for run in runs for number in run.numbers]
        claims = [claim for claim in numbers if claim.metric == first.claim.metric]
        if len(claims) == len(runs) and not first.claim.bound:
            values = [claim.value for claim in claims]
            mean = replace(
                first.claim,
                value=fmean(values),
                margin=fmean(claim.margin for claim in claims),
                rounding=max(claim.rounding for claim in claims),
                at_chance=any(claim.at_chance for claim in claims),
            )
            means.append(judge_sample(mean, values, first))
    return tuple(adjusted(means))


def compare(row: Row, evidence: Evidence, runs: pd.DataFrame, epochs: pd.DataFrame) -> Finding:
    """Judge `row` by those of `runs` that share its workload, batch and replicas.

    Losses and accuracies under the same protocol are judged by `prediction.judge`, counts by equality. A
    number that depends on the hardware, or has another protocol or other data, is not comparable.
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
    used, shown = tuple(cell.runs["run"]), (quantity.digits, quantity.unit)
    if obstacles := quantity.obstacles(cell, row):
        measured = replace(summarized(summarize(values), *shown), remark=quantity.remark(cell, row))
        return Finding(NOT_COMPARABLE, tuple(obstacles), measured, runs=used)
    caveats = tuple(cell.caveats(row))
    if row.metric not in OUTCOMES:
        summary = summarize(values)
        verdict, reason = _judge_count(row, summary)
        return Finding(verdict, (reason,), summarized(summary, *shown), caveats, used)
    spread, committed = evidence.spreads.get(protocol.workload), NO_RUNS
    if spread and spread.fits(cell.epochs):
        committed = spread.values(row.metric, cell.epoch_of(row))
    judgement = judge(_claim(row, cell, evidence), values, committed)
    measured = Measured(float(values.mean()), 4, len(values))
    if judgement.verdict == NOT_COMPARABLE:
        return Finding(NOT_COMPARABLE, (judgement.why,), measured, caveats, used)
    caveats += (judgement.why,) if judgement.why else ()
    caveats += (("stuck", judgement.stuck),) if judgement.stuck else ()
    return Finding(judgement.verdict, (), within(measured, judgement), caveats, used, judgement)


def summarized(summary: Estimate, digits: int, unit: str = "") -> Measured:
    """Return a median, with its interval if that has a width."""
    measured = Measured(summary.median, digits, summary.n, unit=unit)
    if summary.low < summary.high:
        return replace(measured, low=summary.low, high=summary.high)
    return measured


def overall(findings: dict[str, Finding], judge_label: str | None = None) -> tuple[str, Finding]:
    """Return the label of the column that judges, and its finding; the other columns are only shown.

    Columns train with the same seeds, so they are no repeats of each other. The column `judge_label` judges
    if it could be compared, else the first that could.
    """
    able = [label for label, finding in findings.items() if finding.verdict != NOT_COMPARABLE]
    label = judge_label if judge_label in able else (able or list(findings))[0]
    return label, findings[label]


def within(measured: Measured, judgement: Judgement) -> Measured:
    """Return a measured value with the interval of one more run."""
    return replace(measured, low=judgement.low, high=judgement.high)


def _claim(row: Row, cell: Counterpart, evidence: Evidence) -> Claim:
    """Return the published number and its margin, a share of the way from chance to the best value.

    The outcomes of a split are at chance if its accuracy or F1, ours or the published one, is not above that
    of the best constant answer by more than the margin; or R², above 0.
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
        # Guessing by the shares of the classes has their entropy, of which the latter is a lower bound.
        reach = (-math.log(chance) if math.isnan(guessing) else guessing) - row.number
    at_chance = reached <= chance + evidence.margins[score].of(1 - chance)
    margin = unit * evidence.margins[row.metric].of(reach)
    identity = row.metric, cell.epoch_of(row), row.rounding, row.bound
    return Claim(row.number, margin, *identity, at_chance)


def _judge_count(row: Row, summary: Estimate) -> tuple[str, Reason]:
    difference = summary.median - row.number
    if row.metric.startswith("target_"):
        if abs(difference) < 1e-9:
            return HOLDS, ("target",)
        return NOT_COMPARABLE, ("other_target", summary.median, row.value)
    if difference == 0:
        return HOLDS, ("equal",)
    return DIFFERS, ("count", round(difference))
