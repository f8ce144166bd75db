"""Table of variants timed in turn: the ratio of their speeds, with contests as the unit."""

import pandas as pd

from paragone.analysis.contests import effects, pairs
from paragone.reporting import footnotes
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

METHOD = (
    "Ratio: speed of the first variant over that of the second, the median over the rounds of a contest, "
    "then the mean over contests, on a log scale, with its 95 % t interval. Verdicts at 5 % over all pairs "
    "of a question (Holm). Equal: within 5 %."
)


def contests(inputs: Inputs) -> Table:
    """Show each pair of variants: one row, with its verdict."""
    rows = pairs(effects(inputs.rounds, inputs.labels))
    cells = pd.DataFrame(
        {
            "first": rows["first"],
            "second": rows["second"],
            "contests": rows["contests"].astype(str),
            "rounds": rows["rounds"].astype(str),
            "ratio": [_ratio(row) for _, row in rows.iterrows()],
            "verdict": [_verdict(row) for _, row in rows.iterrows()],
        }
    )
    table = inputs.rounds
    remarks = [METHOD, footnotes.data(table), *footnotes.where(table), *footnotes.violations(table)]
    return Table(rows, inputs.title, remarks, [Block(cells, f"{WIDE}{WIDE}rr{WIDE}{WIDE}")])


def _ratio(row: pd.Series) -> str:
    interval = "" if pd.isna(row["low"]) else f" [{row['low']:.3f}, {row['high']:.3f}]"
    return f"{row['ratio']:.3f}{interval}"


def _verdict(row: pd.Series) -> str:
    match row["relation"]:
        case "faster":
            return f"{row['first']} is faster (p = {max(row['p_adjusted'], 0.001):.2g})"
        case "slower":
            return f"{row['second']} is faster (p = {max(row['p_adjusted'], 0.001):.2g})"
        case "equal":
            return f"equal within 5 % (p = {max(row['p_equal_adjusted'], 0.001):.2g})"
    return "undecided" if row["contests"] > 1 else "undecided: one contest"
