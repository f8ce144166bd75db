"""The published tables of accelerators, with this machine's measured peaks as rows of their own."""

import pandas as pd

from paragone.analysis.product_tables import PEAK, peaks, with_labels
from paragone.analysis.statistics import INTERVAL, Summary
from paragone.analysis.verdicts import NOT_COMPARABLE, Finding, summarized
from paragone.reporting import footnotes
from paragone.reporting.beside_published import line, table_of
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import Table

_PEAK = "peak_throughput"
_COLUMN = "measured here"
MEASURED = f"Measured peak: {PEAK}; median [{INTERVAL}] (n timed runs), one device."


def table(inputs: Inputs) -> Table:
    """One row per published number, and one per measured peak after the last published peak."""
    runs, lines = inputs.products, []
    for row in inputs.published:
        kind = "vendors_peak" if row.metric == _PEAK else "hardware_elsewhere"
        finding = Finding(NOT_COMPARABLE, ((kind,),))
        lines.append(_line(row.metric, row.condition, row.system, row.printed, finding, row.note))
    published_peaks = [at for at, row in enumerate(inputs.published, 1) if row.metric == _PEAK]
    at = max(published_peaks, default=0)
    found = with_labels(peaks(runs), inputs.labels)
    lines[at:at] = [_measured(peak) for _, peak in found.iterrows()]
    remarks = [*footnotes.where(runs), MEASURED, *inputs.flaws]
    return table_of(lines, inputs.title, remarks)


def _measured(peak: pd.Series) -> dict[str, object]:
    values = (peak[key] / 1e12 for key in ("median", "low", "high"))
    measured = summarized(Summary(peak["runs"], *values), 3, "TFLOP/s")
    runs = tuple(peak["names"].split())
    finding = Finding(NOT_COMPARABLE, (("measured_peak",),), measured, runs=runs)
    condition = f"{peak['precision']}, square product of {peak['size']:,}, {peak['label']}"
    return _line(_PEAK, condition, f"this machine ({peak['device']})", "-", finding)


def _line(
    metric: str, condition: str, system: str, printed: str, finding: Finding, note: str = ""
) -> dict[str, object]:
    # LaTeX shows conditions, not systems: the condition names the system as well.
    return line((metric, f"{system}, {condition}", system, printed), {_COLUMN: finding}, note)
