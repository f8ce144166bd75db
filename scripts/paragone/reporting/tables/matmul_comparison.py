"""The measured product of matrices beside the published one."""

import re

import pandas as pd

from paragone.analysis.product_tables import medians, with_labels
from paragone.analysis.published import Row
from paragone.analysis.statistics import INTERVAL, Summary
from paragone.analysis.verdicts import NOT_COMPARABLE, Finding
from paragone.base.errors import UserError
from paragone.reporting import footnotes
from paragone.reporting.beside_published import line, table_of
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import Table

CLOCK = (
    "other hardware; the source prints the time of day (1 s resolution) around drawing the "
    "operands, the product and its sum, here the product alone is timed"
)
MEASURED = (
    f"Measured: median [{INTERVAL}] of the timed runs (n) of one process, devices synchronized at both "
    "edges, after a warm-up."
)


def table(inputs: Inputs) -> Table:
    """One row per published time; one column of measured times per series."""
    runs = inputs.products
    cases = with_labels(medians(runs, "seconds"), inputs.labels)
    series = list(cases.groupby("label", sort=False))
    lines = []
    for row in inputs.published:
        findings = {label: _finding(row, part) for label, part in series}
        shown = "under 1 s" if float(row.value) == 0 else row.printed
        lines.append(line((row.metric, row.condition, row.system, shown), findings, row.note))
    remarks = [*footnotes.where(runs), MEASURED, *inputs.flaws]
    return table_of(lines, inputs.title, remarks)


def _finding(row: Row, cases: pd.DataFrame) -> Finding:
    """One published time against one series. Times on other hardware are never a match."""
    kind, (m, k, n), precision = _product(row)
    measured_on = cases["device"].iloc[0]
    if measured_on != kind:
        return Finding("-", NOT_COMPARABLE, f"measured on a {measured_on}, published for a {kind}")
    same = (cases["m"] == m) & (cases["k"] == k) & (cases["n"] == n)
    found = cases[same & (cases["precision"] == precision)]
    if found.empty:
        return Finding("-", NOT_COMPARABLE, "not measured")
    case = found.iloc[0]
    if case["runs"] == 0:
        return Finding("-", NOT_COMPARABLE, str(case["reason"]))
    summary = Summary(*(case[key] for key in ("runs", "median", "low", "high")))
    interval = f" [{summary.low:.3f}, {summary.high:.3f}]" if summary.has_interval else ""
    text = f"{summary.median:.3f}{interval} s (n = {summary.n})"
    return Finding(text, NOT_COMPARABLE, CLOCK, runs=tuple(case["names"].split()))


def _product(row: Row) -> tuple[str, tuple[int, int, int], str]:
    """Device kind, m, k, n and precision that a published row names."""
    sizes = re.fullmatch(r"\((\d+),(\d+)\) @ \((\d+),(\d+)\), (\w+)", row.condition)
    if row.metric != "wall_time" or sizes is None or sizes[2] != sizes[3]:
        raise UserError(
            f"published row {row.system!r}, {row.condition!r}: not the wall time of a product "
            "(m,k) @ (k,n), precision; correct published.csv"
        )
    kind = row.system.split()[0].lower()
    return kind, (int(sizes[1]), int(sizes[2]), int(sizes[4])), sizes[5]
