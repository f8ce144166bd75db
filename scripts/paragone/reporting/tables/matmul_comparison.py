"""The measured product of matrices beside the published one."""

import pandas as pd

from paragone.analysis.product_tables import medians, with_labels
from paragone.analysis.published import Protocol
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
        protocol = inputs.protocols.get(row.system)
        if protocol is None or row.metric != "wall_time":
            raise UserError(
                f"published row {row.system!r}, {row.condition!r}: not the wall time of a product of "
                "matrices; correct `published` in the config, or published.csv and protocols.csv"
            )
        findings = {label: _finding(protocol, part) for label, part in series}
        about = row.metric, row.condition, row.system, row.printed
        lines.append(line(about, findings, row.note))
    remarks = [*footnotes.where(runs), MEASURED, *inputs.flaws]
    return table_of(lines, inputs.title, remarks)


def _finding(published: Protocol, cases: pd.DataFrame) -> Finding:
    """One published time against one series. Times on other hardware are never a match."""
    device = cases["device"].iloc[0]
    if device != published.device:
        why = f"measured on a {device}, published for a {published.device}"
        return Finding("-", NOT_COMPARABLE, why)
    same = cases["precision"] == published.precision
    for side in ("m", "k", "n"):
        same &= cases[side] == getattr(published, side)
    found = cases[same]
    if found.empty:
        return Finding("-", NOT_COMPARABLE, "not measured")
    case = found.iloc[0]
    if case["runs"] == 0:
        return Finding("-", NOT_COMPARABLE, str(case["reason"]))
    summary = Summary(*(case[key] for key in ("runs", "median", "low", "high")))
    interval = f" [{summary.low:.3f}, {summary.high:.3f}]" if summary.has_interval else ""
    text = f"{summary.median:.3f}{interval} s (n = {summary.n})"
    return Finding(text, NOT_COMPARABLE, CLOCK, runs=tuple(case["names"].split()))
