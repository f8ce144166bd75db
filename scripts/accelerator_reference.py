"""The published tables of accelerators, with this machine's measured peaks as rows of their own."""

import pandas as pd

from compare_published import RUNS, latex, markdown
from paragone.analysis import published, tidy, verdicts
from paragone.analysis.product_tables import PEAK, peaks, with_labels
from paragone.analysis.statistics import INTERVAL
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.reporting import footnotes
from paragone.reporting.options import pairs
from paragone.reporting.products_options import comparison_parser

_ELSEWHERE = "other hardware, not measured here"
_WHY = {"peak_throughput": "other hardware; the vendor's peak, no measured product"}


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the reference in three formats."""
    options = comparison_parser(__doc__).parse_args(arguments)
    runs = tidy.read(options.runs)
    rows = published.read_rows(options.published, options.published_experiment)
    compared = reference(rows, runs, pairs(options.labels))
    remarks = [
        footnotes.machine(runs),
        f"Measured peak: {PEAK}; median [{INTERVAL}] (n timed runs), one device.",
        *footnotes.isolation(runs),
        *published.read_flaws(options.flaws, options.published_experiment),
    ]
    tidy.write(compared, options.csv)
    write_text(markdown(compared, options.title, remarks), options.markdown)
    write_text(latex(compared, options.title, remarks), options.latex)


def reference(
    rows: list[published.Row], runs: pd.DataFrame, labels: dict[str, str]
) -> pd.DataFrame:
    """One row a published number, as published, and one a measured peak; all with a verdict."""
    lines = [
        {
            "metric": row.metric,
            "condition": row.condition,
            "system": row.system,
            "published": row.printed,
            "measured here": "-",
            "verdict": verdicts.NOT_COMPARABLE,
            "why": _WHY.get(row.metric, _ELSEWHERE),
            "note": row.note,
            f"{RUNS}measured here": "",
        }
        for row in rows
    ]
    metrics = [line["metric"] for line in lines]
    at = (
        len(metrics) - metrics[::-1].index("peak_throughput") if "peak_throughput" in metrics else 0
    )
    lines[at:at] = [_measured(peak) for _, peak in with_labels(peaks(runs), labels).iterrows()]
    table = pd.DataFrame(lines)
    # LaTeX shows conditions, not systems: say there whose number a row is.
    return table.assign(condition=table["system"] + ", " + table["condition"])


def _measured(peak: pd.Series) -> dict[str, str]:
    interval = f" [{peak['low'] / 1e12:.3f}, {peak['high'] / 1e12:.3f}]" if peak["runs"] > 1 else ""
    return {
        "metric": "peak_throughput",
        "condition": f"{peak['precision']}, square product of {peak['size']:,}, {peak['label']}",
        "system": f"this machine ({peak['device']})",
        "published": "-",
        "measured here": f"{peak['median'] / 1e12:.3f}{interval} TFLOP/s (n = {peak['runs']})",
        "verdict": verdicts.NOT_COMPARABLE,
        "why": "other hardware; a measured product, no vendor's peak",
        "note": "",
        f"{RUNS}measured here": peak["names"],
    }


if __name__ == "__main__":
    main()
