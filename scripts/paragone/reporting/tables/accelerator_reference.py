"""The published tables of accelerators, with this machine's measured peaks as rows of their own."""

import pandas as pd

from paragone.analysis.product_tables import PEAK, peaks, with_labels
from paragone.analysis.statistics import INTERVAL
from paragone.analysis.verdicts import NOT_COMPARABLE, Finding
from paragone.reporting import footnotes
from paragone.reporting.beside_published import line, table_of
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import Table

_PEAK = "peak_throughput"
_COLUMN = "measured here"
_ELSEWHERE = "other hardware, not measured here"
_WHY = {_PEAK: "other hardware; the vendor's peak, no measured product"}
MEASURED = f"Measured peak: {PEAK}; median [{INTERVAL}] (n timed runs), one device."


def table(inputs: Inputs) -> Table:
    """One row per published number, and one per measured peak after the last published peak."""
    runs, lines = inputs.products, []
    for row in inputs.published:
        finding = Finding("-", NOT_COMPARABLE, _WHY.get(row.metric, _ELSEWHERE))
        lines.append(_line(row.metric, row.condition, row.system, row.printed, finding, row.note))
    published_peaks = [at for at, row in enumerate(inputs.published, 1) if row.metric == _PEAK]
    at = max(published_peaks, default=0)
    found = with_labels(peaks(runs), inputs.labels)
    lines[at:at] = [_measured(peak) for _, peak in found.iterrows()]
    remarks = [*footnotes.where(runs), MEASURED, *inputs.flaws]
    return table_of(lines, inputs.title, remarks)


def _measured(peak: pd.Series) -> dict[str, object]:
    interval = f" [{peak['low'] / 1e12:.3f}, {peak['high'] / 1e12:.3f}]" if peak["runs"] > 1 else ""
    text = f"{peak['median'] / 1e12:.3f}{interval} TFLOP/s (n = {peak['runs']})"
    why = "other hardware; a measured product, no vendor's peak"
    finding = Finding(text, NOT_COMPARABLE, why, runs=tuple(peak["names"].split()))
    condition = f"{peak['precision']}, square product of {peak['size']:,}, {peak['label']}"
    return _line(_PEAK, condition, f"this machine ({peak['device']})", "-", finding)


def _line(
    metric: str, condition: str, system: str, printed: str, finding: Finding, note: str = ""
) -> dict[str, object]:
    # LaTeX shows conditions, not systems: the condition names the system as well.
    return line((metric, f"{system}, {condition}", system, printed), {_COLUMN: finding}, note)
