"""Set the measured product beside the published one: CSV, Markdown and LaTeX."""

import re

import pandas as pd

from compare_published import latex, markdown, runs_behind
from paragone.analysis import published, tidy, verdicts
from paragone.analysis.product_tables import medians, with_labels
from paragone.analysis.statistics import INTERVAL, Summary
from paragone.base.atomic_files import write_text
from paragone.base.errors import UserError, entry_point
from paragone.reporting import footnotes
from paragone.reporting.options import pairs
from paragone.reporting.products_options import comparison_parser

CLOCK = (
    "other hardware; the source prints the time of day (1 s resolution) around drawing the "
    "operands, the product and its sum, here the product alone is timed"
)


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the comparison in three formats."""
    options = comparison_parser(__doc__).parse_args(arguments)
    runs = tidy.read(options.runs)
    rows = published.read_rows(options.published, options.published_experiment)
    compared = comparison(rows, runs, pairs(options.labels))
    remarks = [
        footnotes.machine(runs),
        f"Measured: median [{INTERVAL}] of the timed runs (n) of one process, devices "
        "synchronised at both edges, after a warm-up.",
        *footnotes.isolation(runs),
        *published.read_flaws(options.flaws, options.published_experiment),
    ]
    tidy.write(compared, options.csv)
    write_text(markdown(compared, options.title, remarks), options.markdown)
    write_text(latex(compared, options.title, remarks), options.latex)


def comparison(
    rows: list[published.Row], runs: pd.DataFrame, labels: dict[str, str]
) -> pd.DataFrame:
    """One row a published time; one column of measured times a series; verdict, why, note, runs."""
    cases = with_labels(medians(runs, "seconds"), labels)
    lines = []
    for row in rows:
        findings = {
            label: _finding(row, part) for label, part in cases.groupby("label", sort=False)
        }
        verdict, why = verdicts.overall(findings)
        lines.append(
            {
                "metric": row.metric,
                "condition": row.condition,
                "system": row.system,
                "published": "under 1 s" if float(row.value) == 0 else row.printed,
                **{label: finding.measured for label, finding in findings.items()},
                "verdict": verdict,
                "why": why,
                "note": row.note,
                **runs_behind(findings),
            }
        )
    return pd.DataFrame(lines)


def _finding(row: published.Row, cases: pd.DataFrame) -> verdicts.Finding:
    """One published time against one series. Times on other hardware are never a match."""
    kind, (m, k, n), precision = _what(row)
    measured_on = cases["device"].iloc[0]
    if measured_on != kind:
        why = f"measured on a {measured_on}, published for a {kind}"
        return verdicts.Finding("-", verdicts.NOT_COMPARABLE, why)
    same = (cases["m"] == m) & (cases["k"] == k) & (cases["n"] == n)
    found = cases[same & (cases["precision"] == precision)]
    if found.empty:
        return verdicts.Finding("-", verdicts.NOT_COMPARABLE, "not measured")
    case = found.iloc[0]
    if case["runs"] == 0:
        return verdicts.Finding("-", verdicts.NOT_COMPARABLE, str(case["reason"]))
    summary = Summary(*(case[key] for key in ("runs", "median", "low", "high")))
    interval = f" [{summary.low:.3f}, {summary.high:.3f}]" if summary.has_interval else ""
    text = f"{summary.median:.3f}{interval} s (n = {summary.n})"
    names = tuple(case["names"].split())
    return verdicts.Finding(text, verdicts.NOT_COMPARABLE, CLOCK, runs=names)


def _what(row: published.Row) -> tuple[str, tuple[int, int, int], str]:
    """Device kind, m, k, n and precision that a published row names."""
    sizes = re.fullmatch(r"\((\d+),(\d+)\) @ \((\d+),(\d+)\), (\w+)", row.condition)
    if row.metric != "wall_time" or sizes is None or sizes[2] != sizes[3]:
        raise UserError(
            f"published row {row.system!r}, {row.condition!r}: not the wall time of a product "
            "(m,k) @ (k,n), precision; correct published.csv"
        )
    kind = row.system.split()[0].lower()
    return kind, (int(sizes[1]), int(sizes[2]), int(sizes[4])), sizes[5]


if __name__ == "__main__":
    main()
