"""Compare the backends of an experiment with each other, two by two: CSV, Markdown and LaTeX."""

import pandas as pd

from paragone.analysis import run_states, tidy
from paragone.analysis.pairwise import differences
from paragone.analysis.statistics import INTERVAL
from paragone.base.errors import entry_point
from paragone.reporting import footnotes
from paragone.reporting.markup import WIDE, write_documents
from paragone.reporting.options import pairs, table_parser

METHOD = (
    "Paired by seed: sign-flip permutation test, two-sided, p adjusted by Holm's method over the rows "
    f"of a metric; a verdict at p <= 0.05. Median over pairs [{INTERVAL}]. No difference shown is no "
    "proof of equality."
)
PRINTED = ["metric", "workload", "batch", "first", "second", "n", "effect", "p", "verdict", "why"]
NONE = "No two backends trained the same workload at the same global batch: nothing to compare."


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the comparison of one experiment in three formats."""
    parser = table_parser(__doc__)
    options = parser.parse_args(arguments)
    runs = tidy.read(options.runs)
    found = differences(runs, pairs(options.labels))
    remarks = [
        METHOD if len(found) else NONE,
        footnotes.data(runs),
        footnotes.machine(runs),
        *footnotes.isolation(runs),
        *footnotes.violations(runs),
    ]
    if run_states.holds_synthetic(runs):
        remarks.insert(0, footnotes.SYNTHETIC + ".")
    shown, title = printed(found), f"{options.title}: backends compared"
    tidy.write(found, options.csv)
    layout = f"llrllr{WIDE}r{WIDE}{WIDE}"
    write_documents(shown, title, layout, remarks, options.markdown, options.latex)


def printed(found: pd.DataFrame) -> pd.DataFrame:
    """The rows as text, for a page: no names of runs."""
    rows = [
        {
            "metric": row["metric"],
            "workload": row["workload"],
            "batch": f"{row['global_batch']:,}",
            "first": row["first"],
            "second": row["second"],
            "n": row["n"],
            "effect": _effect(row),
            "p": "" if pd.isna(row["p_adjusted"]) else f"{row['p_adjusted']:.3f}",
            "verdict": row["verdict"],
            "why": row["why"],
        }
        for row in found.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=PRINTED)


def _effect(row: dict) -> str:
    if not row["n"]:
        return "-"
    digits = 3 if row["effect"] == "ratio" else 4
    interval = ""
    if not pd.isna(row["low"]):
        interval = f" [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"
    sign = "/" if row["effect"] == "ratio" else "-"
    return f"first {sign} second = {row['median']:.{digits}f}{interval}"


if __name__ == "__main__":
    main()
