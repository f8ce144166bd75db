"""A published number against the measured ones: the corresponding runs, the verdict, and why."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from paragone.analysis.cells import QUANTITIES, Cell, Missing, NoRuns, pick
from paragone.analysis.grouping import shares_cores
from paragone.analysis.prediction import (
    AT_CHANCE,
    DIFFERS,
    REPRODUCED,
    UNDECIDED,
    Judgement,
    Reason,
    judge,
    judge_bound,
)
from paragone.analysis.published import LOWER, OUTCOMES, Margin, Protocol, Ratio, Row, Spread
from paragone.analysis.statistics import CONFIDENCE, Summary, holm, summarize

NOT_COMPARABLE = "not comparable"
VERDICTS = (REPRODUCED, DIFFERS, AT_CHANCE, UNDECIDED, NOT_COMPARABLE)
# Losses and accuracies of one published run are correlated over its epochs: the final ones are the question.
PRIMARY = ("test_accuracy", "test_loss", "train_loss")
_NONE: pd.Series = pd.Series(dtype="float64")


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

    Either with an interval from `low` to `high`, or with the half width of the prediction interval of one
    more run; NaN where there is none. `remark`: which value it is, if not that of the published epoch.
    """

    value: float
    digits: int
    n: int
    low: float = math.nan
    high: float = math.nan
    half_width: float = math.nan
    unit: str = ""
    remark: Reason = ()


@dataclass(frozen=True)
class Finding:
    """One published row against one column of the comparison.

    `reasons`: for the verdict. `caveats`: differences that do not change it, but that a reader must know of.
    `measured`: None where there is no value. `runs`: the names of the measured runs. `judgement`: the
    numbers behind the verdict of a loss, accuracy or ratio. `has_runs`: whether any run could be compared,
    had it other data, length or hardware.
    """

    verdict: str
    reasons: tuple[Reason, ...] = ()
    measured: Measured | None = None
    caveats: tuple[Reason, ...] = ()
    runs: tuple[str, ...] = ()
    judgement: Judgement | None = None
    has_runs: bool = True


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
        return _missing(missing)
    if values.empty:
        return Finding(NOT_COMPARABLE, (("no_parity",) if quantity.hardware else ("not_finite",),))
    summary, used = summarize(values), tuple(cell.runs["run"])
    measured = summarized(summary, quantity.digits)
    if obstacles := quantity.obstacles(cell, row):
        measured = replace(measured, remark=quantity.remark(cell, row))
        return Finding(NOT_COMPARABLE, tuple(obstacles), measured, runs=used)
    caveats = tuple(cell.caveats(row))
    if row.metric not in OUTCOMES:
        verdict, reason = _judge_count(row, protocol, summary)
        return Finding(verdict, (reason,), measured, caveats, used)
    found = _judge_outcome(row, cell, values, evidence)
    difference = ("from_bound" if row.bound == LOWER else "difference", found.difference)
    reasons = (difference, found.why) if found.why else (difference,)
    measured = Measured(found.mean, 4, found.n, half_width=found.half_width)
    return Finding(found.verdict, reasons, measured, caveats, used, found)


def compare_ratio(
    ratio: Ratio, evidence: Evidence, runs: pd.DataFrame, epochs: pd.DataFrame
) -> Finding:
    """Judge a ratio by the ratios per seed: each pairs two runs that differ in nothing else.

    On the log scale, where twice and half have equal weight; other hardware is no obstacle. Replicas that
    share cores, and other inputs or models, are not comparable.
    """
    quantity = QUANTITIES[ratio.row.metric]
    pair = []
    try:
        for row in (ratio.row, ratio.reference):
            cell = pick(row, evidence.protocols[row.system], runs, epochs, exact=True)
            pair.append((cell, quantity.values(cell, row)))
    except Missing as missing:
        return _missing(missing)
    (cell, values), (base, references) = pair
    # By seed; without seeds that only one of them has.
    paired = ratio.of(values, references).dropna()
    if paired.empty:
        lacking = values.dropna().empty or references.dropna().empty
        return Finding(NOT_COMPARABLE, (("no_parity",) if lacking else ("no_pair",),))
    used = tuple(
        run
        for each in (cell, base)
        for run in each.runs.loc[each.runs["seed"].isin(paired.index), "run"]
    )
    obstacles = [("synthetic",)] if cell.synthetic else cell.other_input() + cell.other_model()
    if cell.protocol.replicas != base.protocol.replicas and shares_cores(cell.runs):
        obstacles.append(("shared_cores",))
    if obstacles:
        measured = summarized(summarize(paired), 2)
        return Finding(NOT_COMPARABLE, tuple(obstacles), measured, runs=used)
    logs = paired.map(math.log)
    margin = math.log(evidence.margins[ratio.row.metric].margin)
    found = judge(math.log(ratio.value), logs, margin, _NONE)
    low, high = logs.mean() - found.half_width, logs.mean() + found.half_width
    measured, opposite = Measured(math.exp(found.mean), 2, found.n), False
    if math.isfinite(found.half_width):
        measured = replace(measured, low=math.exp(low), high=math.exp(high))
        opposite = low * high > 0 and low * math.log(ratio.value) < 0
    reasons: tuple[Reason, ...] = (("times", math.exp(found.difference), opposite),)
    if found.why:
        reasons += (("on_log_scale", found.why),)
    return Finding(found.verdict, reasons, measured, (), used, found)


def _missing(missing: Missing) -> Finding:
    has_runs = not isinstance(missing, NoRuns)
    return Finding(NOT_COMPARABLE, (missing.reason,), has_runs=has_runs)


def summarized(summary: Summary, digits: int, unit: str = "") -> Measured:
    """A median, with its interval if that has a width."""
    measured = Measured(summary.median, digits, summary.n, unit=unit)
    if summary.has_interval and summary.low < summary.high:
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


def adjusted(findings: list[Finding]) -> list[Finding]:
    """The primary findings of a system: one that differs does so with a p value adjusted for their number."""
    judged = [finding.judgement for finding in findings]
    p_values = holm([1.0 if finding is None else finding.p for finding in judged])
    return [
        replace(
            finding, verdict=UNDECIDED, reasons=(*finding.reasons, ("adjusted", len(findings), p))
        )
        if finding.verdict == DIFFERS and finding.judgement and p > 1 - CONFIDENCE
        else finding
        for finding, p in zip(findings, p_values, strict=True)
    ]


def primary(rows: list[Row]) -> dict[str, list[Row]]:
    """The primary rows of each system: final test accuracy, test loss and training loss."""
    found: dict[str, list[Row]] = {}
    for metric in PRIMARY:
        of_metric = [row for row in rows if row.metric == metric and row.epoch]
        of_metric = [row for row in of_metric if not row.bound]
        last = {row.system: row for row in sorted(of_metric, key=lambda row: row.epoch or 0)}
        for system, row in last.items():
            found.setdefault(system, []).append(row)
    return found


def _judge_outcome(row: Row, cell: Cell, values: pd.Series, evidence: Evidence) -> Judgement:
    published, margin = row.number, evidence.margins[row.metric].of(row.number)
    epoch, spread = min(cell.reached, row.epoch or cell.reached), _NONE
    committed = evidence.spreads.get(cell.protocol.workload)
    if committed is not None and committed.fits(cell.epochs):
        spread = committed.values(row.metric, epoch)
    if row.bound == LOWER:
        return judge_bound(published, values, spread)
    chance = None
    if row.metric.endswith("accuracy"):
        chance = float(cell.runs[f"{row.metric.partition('_')[0]}_majority"].max())
    return judge(published, values, margin, spread, chance)


def _judge_count(row: Row, protocol: Protocol, summary: Summary) -> tuple[str, Reason]:
    difference = summary.median - row.number
    if row.metric == "target_accuracy":
        if abs(difference) < 1e-9:
            return REPRODUCED, ("target",)
        return NOT_COMPARABLE, ("other_target", summary.median, row.value)
    if difference == 0:
        return REPRODUCED, ("equal",)
    each, count = protocol.parameters_per_word, round(difference)
    if each and protocol.vocabulary and count % each == 0:
        words = protocol.vocabulary + count // each
        return DIFFERS, ("vocabulary", count, words, protocol.vocabulary, each)
    return DIFFERS, ("count", count)
