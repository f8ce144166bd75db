"""The measured product of matrices beside the published one."""

import pandas as pd

from paragone.analysis.product_tables import medians, with_labels
from paragone.analysis.published import Protocol
from paragone.analysis.statistics import INTERVAL, Summary
from paragone.analysis.verdicts import NOT_COMPARABLE, Finding, summarized
from paragone.base.errors import UserError
from paragone.reporting import footnotes
from paragone.reporting.beside_published import line, table_of
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import Table

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
        return Finding(NOT_COMPARABLE, (("other_device", device, published.device),))
    same = cases["precision"] == published.precision
    for side in ("m", "k", "n"):
        same &= cases[side] == getattr(published, side)
    if not same.any():
        return Finding(NOT_COMPARABLE, (("not_measured",),))
    case = cases[same].iloc[0]
    if case["runs"] == 0:
        return Finding(NOT_COMPARABLE, (("case_ended", case["reason"]),))
    summary = Summary(*(case[key] for key in ("runs", "median", "low", "high")))
    runs = tuple(case["names"].split())
    return Finding(NOT_COMPARABLE, (("hardware_product",),), summarized(summary, 3, "s"), runs=runs)
