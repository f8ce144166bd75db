"""Published numbers and runs against the measured ones: the corresponding runs, verdicts, and why."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

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
class Curve:
    """The published epochs of a run: `inside` of `inside_of` outcomes lie where 95 % of runs would be.

    `as_few`: how many of the `as_few_of` runs, the committed ones and the published one, have as few inside.
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
        """What speaks most against it of the verdicts on its numbers."""
        return _overall(self.numbers)


@dataclass
class Line:
    """One published row against all series.

    `findings`: by label. `judge`: the label of the series that judges, and its `finding`. `family`: "final"
    of the last numbers of a run, "curve" of its others, empty of all else.
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
        findings = {each.label: compare(row, evidence, each.runs, epochs) for each in sweeps}
        # The series that judges a row is that of the backend of the committed spread.
        backend = spread.backend if (spread := evidence.spread_of(row.system)) else None
        designated = next((each.label for each in sweeps if each.backend == backend), None)
        family = "curve" if row.metric in OUTCOMES else ""
        lines.append(Line(row, findings, *overall(findings, designated), family))
    runs = [
        _published_run(system, evidence, [lines[place] for place in sorted(places)], lines)
        for system, places in finals(rows).items()
    ]
    return Comparison(lines, runs, _samples(runs, evidence))


def finals(rows: Sequence[Row]) -> dict[str, list[int]]:
    """The places of the final rows of each system: the last of test accuracy, test loss and training loss."""
    found: dict[str, list[int]] = {}
    for metric in (*_OF_OTHER_TASKS, *FINAL):
        of_metric = [place for place, row in enumerate(rows) if row.metric == metric and row.epoch]
        last = {rows[at].system: at for at in sorted(of_metric, key=lambda at: rows[at].epoch or 0)}
        for system, place in last.items():
            found.setdefault(system, []).append(place)
    return found


def _published_run(
    system: str, evidence: Evidence, final: list[Line], lines: list[Line]
) -> PublishedRun:
    """A published run by its `final` lines, whose verdicts are adjusted for how many numbers it has."""
    protocol = evidence.protocols[system]
    able: list[tuple[Line, Judgement]] = []
    for line in final:
        line.family = "final"
        if line.finding.judgement:
            able.append((line, line.finding.judgement))
    numbers = adjusted([one for _, one in able])
    for (line, _), one in zip(able, numbers, strict=True):
        measured = within(line.finding.measured, one) if line.finding.measured else None
        line.finding = replace(line.finding, verdict=one.verdict, measured=measured, judgement=one)
        line.findings[line.judge] = line.finding
    judge_label = able[0][0].judge if able else final[0].judge
    run = PublishedRun(system, protocol.workload, judge_label, tuple(numbers))
    if able:
        run = replace(run, curve=_curve(system, lines, evidence))
    second = protocol.second_workload
    if run.verdict == DIFFERS and (spread := evidence.spreads.get(second)):
        claims = [one.claim for one in numbers]
        again = [judge(each, NO_RUNS, spread.values(each.metric, each.epoch)) for each in claims]
        if (verdict := _overall(adjusted(again))) in (HOLDS, CONSISTENT):
            return replace(run, explanation=(second, verdict))
    return run


def _overall(numbers: Sequence[Judgement]) -> str:
    """What speaks most against a published run of the verdicts on its numbers."""
    return min((one.verdict for one in numbers), key=VERDICTS.index, default=NOT_COMPARABLE)


def _curve(system: str, lines: list[Line], evidence: Evidence) -> Curve | None:
    """How the outcomes of a system over all epochs lie together among the committed runs."""
    spread = evidence.spread_of(system)
    published = {
        (line.row.metric, line.row.epoch): line.row.number
        for line in lines
        if line.row.system == system and line.finding.judgement and not line.row.bound
        if spread and line.row.epoch and line.row.epoch <= spread.rows["epoch"].max()
    }
    if not spread or len(published) <= len(FINAL):
        return None
    inside, as_few, of = spread.inside(published)
    return Curve(inside, len(published), as_few, of)


def _samples(runs: list[PublishedRun], evidence: Evidence) -> list[PublishedRun]:
    """Several published runs of one protocol, as a sample: their means against ours."""
    programs: dict[str, list[PublishedRun]] = {}
    for run in runs:
        if run.numbers:
            programs.setdefault(repr(evidence.protocols[run.system]), []).append(run)
    return [
        replace(same[0], numbers=_means(same), curve=None, explanation=None, count=len(same))
        for same in programs.values()
        if len(same) >= FEWEST_RUNS
    ]


def _means(runs: list[PublishedRun]) -> tuple[Judgement, ...]:
    """The means of several published runs, judged, of the metrics that all of them have."""
    means = []
    for one in runs[0].numbers:
        metric = one.claim.metric
        claims = [each.claim for run in runs for each in run.numbers if each.claim.metric == metric]
        if len(claims) == len(runs) and not one.claim.bound:
            values = [claim.value for claim in claims]
            mean = replace(
                one.claim,
                value=fmean(values),
                margin=fmean(claim.margin for claim in claims),
                rounding=max(claim.rounding for claim in claims),
                at_chance=any(claim.at_chance for claim in claims),
            )
            means.append(judge_sample(mean, values, one))
    return tuple(adjusted(means))


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
