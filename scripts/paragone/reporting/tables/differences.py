"""The backends of an experiment compared with each other, two by two."""

import pandas as pd

from paragone.analysis.pairwise import differences
from paragone.analysis.statistics import INTERVAL
from paragone.reporting import footnotes
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

METHOD = (
    "Paired by seed: sign-flip permutation test, two-sided, p adjusted by Holm's method over the rows "
    f"of a metric; a verdict at p <= 0.05. Median over pairs [{INTERVAL}]. No difference shown is no "
    "proof of equality."
)
PRINTED = ["metric", "workload", "batch", "first", "second", "n", "effect", "p", "verdict", "why"]
NONE = "No two backends trained the same workload at the same global batch: nothing to compare."


def table(inputs: Inputs) -> Table:
    """One row per metric and pair of backends."""
    found = differences(inputs.runs, inputs.labels)
    remarks = footnotes.about(inputs.runs, METHOD if len(found) else NONE)
    block = Block(_cells(found), f"llrllr{WIDE}r{WIDE}{WIDE}")
    return Table(found, f"{inputs.title}: backends compared", remarks, [block])


def _cells(found: pd.DataFrame) -> pd.DataFrame:
    rows = [
        {
            **row,
            "batch": f"{row['global_batch']:,}",
            "effect": _effect(row),
            "p": "" if pd.isna(row["p_adjusted"]) else f"{row['p_adjusted']:.3f}",
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
