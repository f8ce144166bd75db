"""A published number against the measured ones: the corresponding runs, the verdict, and why."""

from dataclasses import dataclass

import pandas as pd

from paragone.analysis.grouping import shares_cores
from paragone.analysis.match_runs import Missing, pick
from paragone.analysis.published import Protocol, Ratio, Row
from paragone.analysis.quantities import QUANTITIES
from paragone.analysis.statistics import Summary, summarize

MATCH, TREND, OPPOSITE, NOT_COMPARABLE = "match", "trend only", "opposite", "not comparable"


@dataclass(frozen=True)
class Finding:
    """One published row against one column of the comparison.

    `asides`: differences that do not change the verdict, but that a reader must know of. `runs`: the
    names of the measured runs.
    """

    measured: str
    verdict: str
    why: str
    asides: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


def compare(
    row: Row, protocol: Protocol | None, runs: pd.DataFrame, epochs: pd.DataFrame
) -> Finding:
    """Judge `row` against those of `runs` that share its workload, batch and replicas.

    match: an outcome (loss, accuracy) under the same protocol; the published value is within its interval
    or equal within rounding. trend only: the same protocol, another value. not comparable: a quantity that
    depends on the hardware, another protocol or other data.
    """
    quantity = QUANTITIES.get(row.quantity)
    if quantity is None or protocol is None or (row.epoch is None and quantity.needs_epoch):
        return Finding("-", NOT_COMPARABLE, "no measured quantity corresponds to this metric")
    try:
        cell = pick(row, protocol, runs, epochs, exact=quantity.exact)
        values = quantity.values(cell, row)
    except Missing as missing:
        return Finding("-", NOT_COMPARABLE, str(missing))
    summary = summarize(values)
    if summary.n == 0:
        why = "parity is not proven: no speed" if quantity.hardware else "no finite value"
        return Finding("-", NOT_COMPARABLE, why)
    text = _text(summary, quantity.digits) + quantity.remark(cell, row)
    used = tuple(cell.runs["run"])
    if obstacles := quantity.obstacles(cell, row):
        return Finding(text, NOT_COMPARABLE, "; ".join(obstacles), runs=used)
    verdict, why = _judge(row, protocol, summary)
    return Finding(text, verdict, why, tuple(cell.asides(row)), used)


def compare_ratio(
    ratio: Ratio, protocols: dict[str, Protocol], runs: pd.DataFrame, epochs: pd.DataFrame
) -> Finding:
    """Judge a ratio by the ratios per seed: each pairs two runs that differ in nothing else.

    match: the published ratio is within the interval, or equal within the rounding of the published
    numbers. trend only: another size, or another size of input or model. opposite: below 1 where the
    published ratio is above, or vice versa. not comparable: replicas that share cores. Other hardware is no
    obstacle.
    """
    quantity = QUANTITIES[ratio.row.quantity]
    pair = []
    try:
        for row in (ratio.row, ratio.reference):
            cell = pick(row, protocols[row.system], runs, epochs, exact=True)
            pair.append((cell, quantity.values(cell, row)))
    except Missing as missing:
        return Finding("-", NOT_COMPARABLE, str(missing))
    (cell, values), (base, references) = pair
    # By seed; without seeds that only one of them has.
    paired = ratio.of(values, references).dropna()
    if paired.empty:
        lacking = values.dropna().empty or references.dropna().empty
        why = "parity is not proven: no speed" if lacking else "no seed ran both"
        return Finding("-", NOT_COMPARABLE, why)
    summary = summarize(paired)
    text = _text(summary, 2)
    used = tuple(
        run
        for one in (cell, base)
        for run in one.runs.loc[one.runs["seed"].isin(paired.index), "run"]
    )
    if cell.synthetic:
        return Finding(text, NOT_COMPARABLE, "SYNTHETIC DATA", runs=used)
    if cell.protocol.replicas != base.protocol.replicas and shares_cores(cell.runs):
        why = "the replicas share the cores of one machine: they add no hardware"
        return Finding(text, NOT_COMPARABLE, why, runs=used)
    verdict, why = _judge_ratio(ratio, summary)
    if other := cell.other_input() + cell.other_model():
        verdict, why = (TREND if verdict == MATCH else verdict), f"{why}; {', '.join(other)}"
    return Finding(text, verdict, why, runs=used)


def overall(findings: dict[str, Finding]) -> tuple[str, str]:
    """The verdict over all series, and why: a match only if every series matches.

    Series that cannot be compared are ignored if others can; where those differ, it is "trend only".
    """
    judged = [one.verdict for one in findings.values() if one.verdict != NOT_COMPARABLE]
    verdict = NOT_COMPARABLE if not judged else judged[0] if len(set(judged)) == 1 else TREND
    asides = [set(one.asides) for one in findings.values() if one.asides]
    shared = set.intersection(*asides) if asides else set()  # reported once, not per series
    reasons: dict[str, list[str]] = {}
    for label, finding in findings.items():
        own = [aside for aside in finding.asides if aside not in shared]
        reasons.setdefault(finding.why + _aside(own), []).append(label)
    whys = list(reasons)
    if len(reasons) > 1:
        whys = [f"{', '.join(labels)}: {why}" for why, labels in reasons.items()]
    return verdict, "; ".join(whys) + _aside(sorted(shared))


def _judge(row: Row, protocol: Protocol, summary: Summary) -> tuple[str, str]:
    published, difference = float(row.value), summary.median - float(row.value)
    if row.quantity == "target_accuracy":
        if abs(difference) < 1e-9:
            return MATCH, "the runs had the published target"
        return NOT_COMPARABLE, f"the runs had the target {summary.median:g}, published {row.value}"
    if row.quantity == "parameters":
        return _judge_parameters(protocol, round(difference))
    if row.lower_bound:
        if difference > 0:
            return MATCH, f"over the stated bound by {difference:.4f}"
        return TREND, f"under the stated bound by {-difference:.4f}"
    if summary.has_interval and summary.low <= published <= summary.high:
        return MATCH, "the interval holds the published value"
    if abs(difference) <= row.tolerance:
        return MATCH, "equal within the rounding of the published value"
    return TREND, f"differs by {difference:+.4f}"


def _judge_parameters(protocol: Protocol, difference: int) -> tuple[str, str]:
    each = protocol.parameters_per_word
    if difference == 0:
        return MATCH, "equal"
    if each and protocol.vocabulary and difference % each == 0:
        words = difference // each
        return TREND, (
            f"{difference:+,} = {each} x {words:+,} words: a vocabulary of "
            f"{protocol.vocabulary + words:,}, published {protocol.vocabulary:,}; "
            "all other parameters are equal"
        )
    return TREND, f"differs by {difference:+,}"


def _judge_ratio(ratio: Ratio, summary: Summary) -> tuple[str, str]:
    low, high = ratio.rounding
    if summary.has_interval and summary.low <= ratio.value <= summary.high:
        return MATCH, "the interval holds the published ratio"
    if low <= summary.median <= high:
        return MATCH, "equal within the rounding of the published numbers"
    size = f"{summary.median / ratio.value:.2f} times the published ratio"
    if summary.has_interval and summary.low <= 1 <= summary.high:
        return TREND, f"no clear direction, the interval holds 1; {size}"
    if (summary.median > 1) == (ratio.value > 1):
        return TREND, f"same direction, {size}"
    return OPPOSITE, size


def _aside(asides: list[str]) -> str:
    return f" ({'; '.join(asides)})" if asides else ""


def _text(summary: Summary, digits: int) -> str:
    interval = ""
    if summary.has_interval and summary.low < summary.high:
        interval = f" [{summary.low:,.{digits}f}, {summary.high:,.{digits}f}]"
    return f"{summary.median:,.{digits}f}{interval} (n = {summary.n})"
