"""Tables of published numbers and what was measured here: a verdict per row, a column per measured series."""

import math
from dataclasses import replace
from typing import Any

import pandas as pd

from paragone.analysis import verdicts
from paragone.analysis.prediction import NOT_COMPARABLE, Judgement
from paragone.analysis.product_tables import PEAK, medians, peaks, with_labels
from paragone.analysis.statistics import INTERVAL, Estimate
from paragone.analysis.verdicts import Finding, Measured, PublishedRun, summarized
from paragone.base.errors import UserError
from paragone.config.numbers import Protocol, Row
from paragone.reporting import footnotes, sentences
from paragone.reporting.inputs import Inputs
from paragone.reporting.tables import TextTable

# Columns of the CSV file only: the published value, and the numbers behind the verdict.
NUMBERS = ["family", "judge", "has_runs", "value", "n", "center", "low", "high", "margin", "p"]

OUTCOMES_JUDGED = (
    "A published run is judged by its final numbers; other epochs have no verdict. Measured: mean of the n "
    "runs here [where one more run would be, by these and the committed runs, at 5 % adjusted by Holm's "
    "method for the numbers of the run]. Differs: the number is outside. Holds: it is inside, and distance "
    "and half the interval together are within the margin. Consistent: it is inside, but the interval is too "
    "wide for that."
)
PRODUCTS = (
    f"Measured: median [{INTERVAL}] of the timed runs (n) of one process, devices synchronized at both "
    "edges, after a warm-up."
)
PEAKS = f"Measured peak: {PEAK}; median [{INTERVAL}] (n timed runs), one device."


def comparison(inputs: Inputs) -> TextTable:
    """Compare each published number of an experiment with what was measured.

    There is one column per backend and machine, one of which judges.
    """
    compared = verdicts.compare_all(
        inputs.numbers.rows, inputs.evidence, inputs.sweeps(), inputs.epochs
    )
    lines = [
        _line(_claimed(part.row), part.findings, part.family, (part.judge, part.finding))
        for part in compared.lines
    ]
    lines += [_mean_line(run, number) for run in compared.samples for number in run.numbers]
    curves = filter(None, map(sentences.of_curve, compared.runs))
    remarks = footnotes.of_table(inputs.runs, OUTCOMES_JUDGED, *curves)
    table = _table(lines, inputs.title, [*remarks, *inputs.numbers.flaws])
    return replace(table, published_runs=[*compared.runs, *compared.samples])


def _claimed(row: Row) -> dict[str, Any]:
    """Return what the source says of a row."""
    return {
        "metric": row.metric,
        "condition": row.condition,
        "system": row.system,
        "published": row.printed,
        "note": row.note,
        "value": row.number,
    }


def _line(
    claimed: dict[str, Any],
    findings: dict[str, Finding],
    family: str = "",
    judged: tuple[str, Finding] | None = None,
) -> dict[str, Any]:
    """Return one row: what the source claims, as of `_claimed`, and a finding by series.

    `judged` is the series whose finding is the verdict, and that finding; by default the first that can be
    compared.
    """
    label, finding = judged or verdicts.overall(findings)
    decisive = {label: finding} if finding.verdict != NOT_COMPARABLE else findings
    line = {name: claimed[name] for name in ("metric", "condition", "system", "published")}
    line |= {label: sentences.measured(side) for label, side in findings.items()}
    line |= {
        "verdict": "" if family == "curve" and finding.judgement else finding.verdict,
        "why": _why(decisive, len(findings)),
        "note": claimed.get("note", ""),
        "family": family,
        "judge": label,
        "has_runs": all(side.has_runs for side in findings.values()),
        "value": claimed.get("value", math.nan),
        "runs": " ".join(dict.fromkeys(run for side in findings.values() for run in side.runs)),
    }
    if number := finding.judgement:
        line |= {name: getattr(number, name) for name in ("n", "center", "low", "high", "p")}
        line["margin"] = number.claim.margin
    return line


def _mean_line(run: PublishedRun, number: Judgement) -> dict[str, Any]:
    """Return the row of a mean of several published runs of one program."""
    claimed = {
        "metric": number.claim.metric,
        "condition": f"mean of {run.count} published runs of one program",
        "system": run.system,
        "published": f"{number.claim.value:.4f}",
        "value": number.claim.value,
    }
    measured = verdicts.within(Measured(number.center, 4, number.n), number)
    mean = Finding(number.verdict, measured=measured, judgement=number)
    return _line(claimed, {run.judge: mean}, "final", (run.judge, mean))


def _why(findings: dict[str, Finding], columns: int) -> str:
    """Return the reason of the series that judges, or of each that cannot be compared, equal ones once."""
    reasons: dict[str, list[str]] = {}
    for label, finding in findings.items():
        reasons.setdefault(sentences.reasons(finding), []).append(label)
    if columns == 1 or (len(reasons) == 1 and len(findings) > 1):
        return "; ".join(reasons)
    return "; ".join(f"{', '.join(labels)}: {why}" for why, labels in reasons.items())


def _table(lines: list[dict[str, Any]], title: str, remarks: list[str]) -> TextTable:
    """Return lines of `_line` as a table; run names and the numbers of the verdict are in its CSV file only.

    Raises `UserError` if there is no line: no published experiment was named.
    """
    if not lines:
        raise UserError("published: missing; name the experiment whose published rows are shown")
    rows = pd.DataFrame(lines)
    cells = rows.drop(columns=[*NUMBERS, "runs"], errors="ignore").fillna("-")
    title = f"{title}: published and measured"
    return TextTable(rows, title, remarks, cells, cells["verdict"], rows["runs"])


def matmul_comparison(inputs: Inputs) -> TextTable:
    """Compare published times of matrix products with measured ones: one column per series."""
    cases = with_labels(medians(inputs.products, "seconds"), inputs.labels)
    series = list(cases.groupby("label", sort=False))
    lines = []
    for row in inputs.numbers.rows:
        protocol = inputs.numbers.protocols.get(row.system)
        if protocol is None or row.metric != "wall_time":
            raise UserError(
                f"published row {row.system!r}, {row.condition!r}: not the wall time of a product of "
                "matrices; correct `published` in the config, or the paper's numbers"
            )
        findings = {label: _product_finding(protocol, part) for label, part in series}
        lines.append(_line(_claimed(row), findings))
    remarks = [*footnotes.where(inputs.products), PRODUCTS, *inputs.numbers.flaws]
    return _table(lines, inputs.title, remarks)


def _product_finding(published: Protocol, cases: pd.DataFrame) -> Finding:
    """Compare one published time with one series; times on other hardware are never a match."""
    device = cases["device"].iloc[0]
    if device != published.device:
        return Finding(NOT_COMPARABLE, (("other_device", device, published.device),))
    sides = ["precision", "m", "k", "n"]
    cases = cases[(cases[sides] == [getattr(published, side) for side in sides]).all(axis=1)]
    if cases.empty:
        return Finding(NOT_COMPARABLE, (("not_measured",),))
    case = cases.iloc[0]
    if case["runs"] == 0:
        return Finding(NOT_COMPARABLE, (("case_ended", case["reason"]),))
    measured = summarized(_summary(case), 3, "s")
    runs = tuple(case["names"].split())
    return Finding(NOT_COMPARABLE, (("hardware_product",),), measured, runs=runs)


def _summary(case: pd.Series, factor: float = 1) -> Estimate:
    return Estimate(case["runs"], *(factor * case[key] for key in ("median", "low", "high")))


def accelerator_reference(inputs: Inputs) -> TextTable:
    """Show the published numbers of accelerators, and this machine's measured peaks after their peaks."""
    lines = []
    for row in inputs.numbers.rows:
        kind = "vendors_peak" if row.metric == "peak_throughput" else "hardware_elsewhere"
        lines.append(_line(_claimed(row), {"measured here": Finding(NOT_COMPARABLE, ((kind,),))}))
    metrics = [row.metric for row in inputs.numbers.rows]
    at = max((n for n, metric in enumerate(metrics, 1) if metric == "peak_throughput"), default=0)
    measured = with_labels(peaks(inputs.products), inputs.labels)
    lines[at:at] = [_peak_line(peak) for _, peak in measured.iterrows()]
    remarks = [*footnotes.where(inputs.products), PEAKS, *inputs.numbers.flaws]
    return _table(lines, inputs.title, remarks)


def _peak_line(peak: pd.Series) -> dict[str, Any]:
    measured = summarized(_summary(peak, 1e-12), 3, "TFLOP/s")
    runs = tuple(peak["names"].split())
    finding = Finding(NOT_COMPARABLE, (("measured_peak",),), measured, runs=runs)
    claimed = {
        "metric": "peak_throughput",
        "condition": f"{peak['precision']}, square product of {peak['size']:,}, {peak['label']}",
        "system": f"this machine ({peak['device']})",
        "published": "-",
    }
    return _line(claimed, {"measured here": finding})
