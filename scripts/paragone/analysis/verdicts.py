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
    INCONCLUSIVE,
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
    times_as_varied,
)
from paragone.analysis.statistics import ALPHA, Estimate, holm, summarize
from paragone.config.numbers import ABOUT, Protocol, Row
from paragone.config.schema import Margin
from paragone.tasks import METRICS, TOP

# From worst to best; the verdict of a run is the worst of its numbers'.
VERDICTS = (AT_CHANCE, DIFFERS, INCONCLUSIVE, CONSISTENT, HOLDS, NOT_COMPARABLE)
FLAWED = "flawed"  # a number that the paper's file takes out of all verdicts
# Losses and accuracies of one published run are correlated over its epochs: the final ones are the question.
FINAL = ("test_accuracy", "test_loss", "train_loss")
_OF_SOME_TASKS = ("test_f1", "test_r2", "test_mae", "test_perplexity", "test_top5_accuracy")
_OF_VALIDATION = tuple(f"validation_{name}" for name in METRICS)


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
    of the published epoch. `deviation`: that of the runs, of losses and accuracies.
    """

    value: float
    digits: int
    n: int
    low: float = math.nan
    high: float = math.nan
    unit: str = ""
    remark: Reason = ()
    deviation: float = math.nan


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
    """The published epochs of a run: so `many` outcomes, of which those `outside` do not lie where 95 % of
    runs would; each has a metric and an epoch.

    `as_few` of `as_few_of` runs (the committed ones plus the published one) have no more outcomes inside.
    """

    outside: tuple[tuple[str, int], ...]
    many: int
    as_few: int
    as_few_of: int

    @property
    def verdict(self) -> str:
        """`CONSISTENT` with one more run, or `DIFFERS`."""
        return DIFFERS if self.as_few / self.as_few_of <= ALPHA else CONSISTENT


@dataclass(frozen=True)
class PublishedRun:
    """One published run by its final `numbers`: those that can be compared, adjusted for how many they are.

    `system`: which run, as the source names it, of a sample all of them; `workload`: the program; `judge`:
    the label of the series whose runs are at hand. `count`: several published runs of one program that are
    judged as a sample; the numbers are means. `curve`: None where epochs are not published or no spread is
    committed. `explanation`: where the run differs, the second workload that its protocol names, and the
    verdict by the committed runs of that, if it is consistent with these. `varied`: the runs that vary more
    than ours in a number that differs, which metric it is, and how many times as much. `lacks`: why a run
    without numbers cannot be compared. `ends`: where the source's log breaks off, its last epoch and the
    epochs of the program. `astray`: other numbers that differ, at 5 % over their count.
    """

    system: str
    workload: str
    judge: str
    numbers: tuple[Judgement, ...] = ()
    curve: Curve | None = None
    explanation: tuple[str, str] | None = None
    count: int = 1
    varied: tuple[str, str, float] | None = None
    lacks: tuple[Reason, ...] = ()
    ends: tuple[int, int] | None = None
    astray: tuple[Judgement, ...] = ()

    @property
    def verdict(self) -> str:
        """The worst verdict among its numbers."""
        return _overall(self.numbers)


@dataclass
class Line:
    """One published row against all series.

    `findings`: by label. `judge`: the label of the series that judges, and its `finding`. `family`: "final"
    for a run's final numbers, "last" for those where its log breaks off, "curve" for others, "" otherwise.
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
    """Judge each row by each series, and each published run by its final numbers.

    Which series judges is never a matter of its result: that of the backend of the committed spread, else the
    first one, in the order of the config's backends, that can be compared. The others are shown.
    """
    lines = []
    for row in rows:
        findings = {
            sweep.label: _divided(compare(row, evidence, sweep.runs, epochs), sweep, sweeps)
            for sweep in sweeps
        }
        backend = spread.backend if (spread := evidence.spread_of(row.system)) else None
        designated = [sweep.label for sweep in sweeps if sweep.backend == backend]
        family = "curve" if row.metric in OUTCOMES else ""
        lines.append(Line(row, findings, *overall(findings, designated), family))
    runs = [
        _published_run(system, evidence, [lines[place] for place in sorted(places)], lines)
        for system, places in finals(rows).items()
    ]
    samples = [sample for sample in _samples(runs, evidence) if sample.numbers]
    runs = [replace(run, varied=_varied(run, lines, evidence)) for run in runs]
    return Comparison(lines, runs, samples)


def _divided(finding: Finding, sweep: Series, sweeps: Sequence[Series]) -> Finding:
    """Say of too few runs on which machines, or numbers of cores, the backend of the `sweep` has runs."""
    parts = [other.runs for other in sweeps if other.backend == sweep.backend]
    machines = sorted({name for part in parts for name in part["machine_name"].dropna()})
    if len(machines) < 2 or ("few_runs", FEWEST_RUNS) not in finding.reasons:
        return finding
    return replace(finding, reasons=(*finding.reasons, ("apart", " and ".join(machines))))


def finals(rows: Sequence[Row]) -> dict[str, list[int]]:
    """Return the places of each system's final rows: the last of each metric but training scores.

    They are of the epoch of a row that is final, else the last: the log breaks off there. No flawed one is.
    """
    final: dict[str, list[int]] = {}
    ends = {row.system: row.epoch for row in rows if row.final and row.is_outcome}
    able = [
        place
        for place, row in enumerate(rows)
        if row.epoch and not row.flaws
        if row.final or row.epoch == ends.get(row.system, row.epoch)
    ]
    able.sort(key=lambda place: rows[place].epoch or 0)
    for metric in (*_OF_SOME_TASKS, *FINAL, *_OF_VALIDATION):
        of_metric = [place for place in able if rows[place].metric == metric]
        last = {(rows[place].system, rows[place].best): place for place in of_metric}
        for (system, _), place in last.items():
            final.setdefault(system, []).append(place)
    return final


def _published_run(
    system: str, evidence: Evidence, final: list[Line], lines: list[Line]
) -> PublishedRun:
    """Judge a published run by its `final` lines; verdicts are adjusted for how many numbers it has."""
    protocol = evidence.protocols[system]
    ends = max(line.row.epoch or 0 for line in final), protocol.epochs or 0
    broken = ends[0] < ends[1] and not any(line.row.final for line in final)
    for line in final:
        line.family = "last" if broken else "final"
        if broken:
            caveats = *line.finding.caveats, ("log_ends", line.row.epoch, ends[1])
            line.finding = replace(line.finding, caveats=caveats)
    able = [line for line in final if line.finding.judgement]
    numbers = adjusted([line.finding.judgement for line in able if line.finding.judgement])
    for line, number in zip(able, numbers, strict=True):
        measured = within(line.finding.measured, number) if line.finding.measured else None
        line.finding = replace(
            line.finding, verdict=number.verdict, measured=measured, judgement=number
        )
    for line in final:
        line.findings[line.judge] = line.finding
    curve = [line for line in lines if line.row.system == system and line.family == "curve"]
    beside = adjusted([line.finding.judgement for line in curve if line.finding.judgement])
    astray = tuple(number for number in beside if number.alone <= number.alpha)
    judging = (able or final)[0].judge
    of_epochs = _curve(system, lines, evidence)
    run = PublishedRun(system, protocol.workload, judging, tuple(numbers), of_epochs)
    run = replace(run, ends=ends if broken else None, astray=astray)
    if not able:  # that of runs at hand says most
        findings = final[0].findings.values()
        nearest = max(findings, key=lambda finding: (finding.has_runs, len(finding.runs)))
        return replace(run, lacks=nearest.reasons)
    second = protocol.second_workload
    if run.verdict == DIFFERS and (spread := evidence.spreads.get(second)):
        claims = [number.claim for number in numbers]
        again = [
            judge(claim, NO_RUNS, spread.values(claim.metric, claim.epoch, claim.best))
            for claim in claims
        ]
        if (verdict := _overall(adjusted(again))) in (HOLDS, CONSISTENT, INCONCLUSIVE):
            return replace(run, explanation=(second, verdict))
    return run


def still_differing(runs: Sequence[PublishedRun]) -> list[PublishedRun]:
    """Return the runs that differ if they are adjusted, by Holm's method, for all runs of a report.

    Each run is tested at 5 %, so that among many that replicate ours some differ.
    """
    p_values = holm([min(number.p for number in run.numbers) for run in runs])
    pairs = zip(runs, p_values, strict=True)
    return [run for run, p in pairs if run.verdict == DIFFERS and p <= ALPHA]


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
        if not line.row.runs and not line.row.best
        if spread and line.row.epoch and line.row.epoch <= spread.rows["epoch"].max()
    }
    if not spread or len(published) <= len(FINAL):
        return None
    outside, as_few, runs = spread.inside(published)
    return Curve(tuple(outside), len(published), as_few, runs)


def _samples(runs: list[PublishedRun], evidence: Evidence) -> list[PublishedRun]:
    """Judge several published runs of one protocol and length as a sample: their means against ours."""
    programs: dict[str, list[PublishedRun]] = {}
    for run in runs:
        if run.numbers and all(number.claim.runs == 1 for number in run.numbers):
            epochs = {number.claim.epoch for number in run.numbers}
            key = repr((evidence.protocols[run.system].program, sorted(epochs)))
            programs.setdefault(key, []).append(run)
    return [
        PublishedRun(
            names, run.workload, run.judge, _means(sample), count=len(sample), ends=run.ends
        )
        for sample in programs.values()
        if len(sample) >= FEWEST_RUNS
        for run, names in [(sample[0], "; ".join(member.system for member in sample))]
    ]


def _varied(
    run: PublishedRun, lines: list[Line], evidence: Evidence
) -> tuple[str, str, float] | None:
    """Return what varies more, in a number that differs, than the runs that judge: see `PublishedRun`.

    That may be all published runs of the protocol, or the runs of another series.
    """
    for number in run.numbers:
        claim, program = number.claim, evidence.protocols[run.system].program
        rows = [
            line
            for line in lines
            if line.family in ("final", "last")
            if (line.row.metric, line.row.best, line.row.epoch)
            == (claim.metric, claim.best, claim.epoch)
            if evidence.protocols[line.row.system].program == program
        ]
        values = pd.Series([line.row.number for line in rows if not line.row.runs])
        sources = [(f"{len(values)} published runs", values.std(), len(values))]
        sources += [
            (f"runs of {label}", finding.measured.deviation, finding.measured.n)
            for line in rows
            if line.row.system == run.system
            for label, finding in line.findings.items()
            if label != line.judge and finding.judgement and finding.measured
        ]
        sources += [
            (f"{line.row.runs} published runs", line.row.deviation[0], line.row.runs)
            for line in rows
            if line.row.system == run.system and line.row.runs
        ]
        for name, deviation, n in sources:
            times = times_as_varied(deviation, n, number)
            if times and number.verdict == DIFFERS:
                return name, claim.name, times
    return None


def _means(runs: list[PublishedRun]) -> tuple[Judgement, ...]:
    """Judge the means of several published runs, by the metrics that all of them have."""
    means = []
    for first in runs[0].numbers:
        numbers = [number.claim for run in runs for number in run.numbers]
        claims = [claim for claim in numbers if claim.name == first.claim.name]
        if len(claims) == len(runs) and not first.claim.bound:
            values = [claim.value for claim in claims]
            mean = replace(
                first.claim,
                value=fmean(values),
                margin=fmean(claim.margin for claim in claims),
                rounding=max(claim.rounding for claim in claims),
                at_chance=any(claim.at_chance for claim in claims),
                runs=len(runs),
                printed="",
            )
            means.append(judge_sample(mean, values, first))
    return tuple(adjusted(means))


def compare(row: Row, evidence: Evidence, runs: pd.DataFrame, epochs: pd.DataFrame) -> Finding:
    """Judge `row` by those of `runs` that share its workload, batch and replicas, unless it has a flaw.

    Losses and accuracies under the same protocol are judged by `prediction.judge`, counts by equality. A
    number that depends on the hardware, or has another protocol or other data, is not comparable.
    """
    finding = _compared(row, evidence, runs, epochs)
    if not row.flaws:
        return finding
    flaws = tuple(("flaw", text) for text in row.flaws)
    return replace(finding, verdict=FLAWED, reasons=flaws, judgement=None)


def _compared(row: Row, evidence: Evidence, runs: pd.DataFrame, epochs: pd.DataFrame) -> Finding:
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
        committed = spread.values(row.metric, cell.epoch_of(row), row.best)
    judgement = judge(_claim(row, cell, evidence), values, committed)
    judgement = with_margin(judgement, _guessed(row.metric, cell), evidence.margins[row.metric])
    measured = Measured(float(values.mean()), 4, len(values), deviation=float(values.std()))
    if judgement.verdict == NOT_COMPARABLE:
        return Finding(NOT_COMPARABLE, (judgement.why,), measured, caveats, used)
    caveats += (judgement.why,) if judgement.why else ()
    caveats += (("outliers", judgement.outliers),) if judgement.outliers else ()
    deviation, digit = row.deviation
    if row.runs and (times := times_as_varied(deviation, row.runs, judgement, digit, either=True)):
        caveats += (("their_spread", row.runs, times),)
    return Finding(judgement.verdict, (), within(measured, judgement), caveats, used, judgement)


def summarized(summary: Estimate, digits: int, unit: str = "") -> Measured:
    """Return a median, with its interval if that has a width."""
    ends = (summary.low, summary.high) if summary.low < summary.high else (math.nan, math.nan)
    return Measured(summary.median, digits, summary.n, *ends, unit)


def overall(findings: dict[str, Finding], designated: Sequence[str] = ()) -> tuple[str, Finding]:
    """Return the label of the column that judges, and its finding; the other columns are only shown.

    Columns train with the same seeds, so they are no repeats of each other. The first that can be compared
    judges, the `designated` ones before the others.
    """
    able = [label for label, finding in findings.items() if finding.verdict != NOT_COMPARABLE]
    label = next((name for name in designated if name in able), (able or list(findings))[0])
    return label, findings[label]


def within(measured: Measured, judgement: Judgement) -> Measured:
    """Return a measured value with the interval of one more run."""
    return replace(measured, low=judgement.low, high=judgement.high)


def _claim(row: Row, cell: Counterpart, evidence: Evidence) -> Claim:
    """Return the published number, without a margin, and whether its split is at chance.

    The outcomes of a split are at chance if its accuracy or F1, ours or the published one, is not above that
    of the best constant answer by more than the margin; or R², above 0.
    """
    split = row.metric.partition("_")[0]
    several = (cell.runs["task"] == "multi-label").all()
    of_numbers = not math.isnan(cell.runs[f"{split}_variance"].max())
    score = f"{split}_{'r2' if of_numbers else 'f1' if several else 'accuracy'}"
    reached = float(cell.outcome(row, score).mean())
    if row.metric == score:
        reached = min(reached, row.number)
    chance = _guessed(score, cell)
    at_chance = reached <= chance + evidence.margins[score].of(1 - chance, 1 - chance)
    identity = row.metric, cell.epoch_of(row), row.rounding, row.limit
    printed = row.printed.removesuffix(" nats")  # which a loss has anyway
    return Claim(row.number, 0.0, *identity, at_chance, row.best, row.runs or 1, printed)


def _guessed(metric: str, cell: Counterpart) -> float:
    """Return the score, or the loss or error, of the best constant answer on a split."""
    split, _, name = metric.partition("_")
    if name in ("accuracy", "f1"):
        return float(cell.runs[f"{split}_majority"].max())
    if name == "top5_accuracy":
        # At most that: five classes are no more frequent than five times the most frequent one.
        return min(1.0, TOP * float(cell.runs[f"{split}_majority"].max()))
    variance = float(cell.runs[f"{split}_variance"].max())
    if name == "r2":
        return 0.0
    if not math.isnan(variance):
        # Always saying the mean has an absolute error of at most the deviation.
        return math.sqrt(variance) if name == "mae" else variance
    loss = float(cell.runs[f"{split}_guessing_loss"].max())
    if math.isnan(loss):
        # Guessing by the shares of the classes has their entropy, of which this is a lower bound.
        loss = -math.log(cell.runs[f"{split}_majority"].max())
    return math.exp(loss) if name == "perplexity" else loss


def with_margin(number: Judgement, guessed: float, margin: Margin) -> Judgement:
    """Return a judgement with its margin: that of the lesser error, theirs or ours.

    That of theirs alone would grow with their error. `guessed` is what the best constant answer gives.
    """
    values = number.claim.value, number.center
    margins = [_margin(number.claim.metric, value, guessed, margin) for value in values]
    return replace(number, claim=replace(number.claim, margin=min(margins)))


def _margin(metric: str, value: float, guessed: float, margin: Margin) -> float:
    """Return the margin of a value: a share of what training covers, or of the error that it leaves."""
    if metric.endswith(("accuracy", "_f1", "_r2")):
        return margin.of(1 - guessed, 1 - value)
    if metric.endswith("perplexity"):
        return value * margin.of(math.log(guessed / value), math.log(value))
    return margin.of(guessed - value, value)


def _judge_count(row: Row, summary: Estimate) -> tuple[str, Reason]:
    difference = row.number - summary.median
    if row.metric.startswith("target_"):
        if abs(difference) < 1e-9:
            return HOLDS, ("target",)
        return NOT_COMPARABLE, ("other_target", summary.median, row.printed)
    if difference == 0 and row.bound != ABOUT:
        return HOLDS, ("equal",)
    near = row.bound == ABOUT and abs(difference) <= row.rounding
    return CONSISTENT if near else DIFFERS, (
        "count",
        round(abs(difference)),
        "above" if difference > 0 else "below",
    )
