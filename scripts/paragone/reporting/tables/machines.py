"""The same comparisons on several machines, side by side: ratios, which another machine may repeat."""

import pandas as pd

from paragone.analysis.pairwise import differences
from paragone.reporting import footnotes, words
from paragone.reporting.beside_each_other import effect
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

METHOD = (
    "Each machine by itself, paired by seed; seconds of different machines are not compared, only how much "
    "better one way is than another on each. No test is made across machines."
)
PAIR = ["metric", "workload", "global_batch", "first", "second"]


def table(inputs: Inputs) -> Table:
    """One row per machine, metric and pair of backends; a column per machine for readers."""
    found = words.with_words(differences(inputs.runs, inputs.labels))
    remarks = footnotes.about(inputs.runs, METHOD)
    block = Block(_cells(found), f"llrll{WIDE * found['machine'].nunique()}")
    return Table(found, f"{inputs.title}: machine beside machine", remarks, [block])


def _cells(found: pd.DataFrame) -> pd.DataFrame:
    machines = list(dict.fromkeys(found["machine"]))
    texts = [
        f"{effect(row)}: {row['verdict']} (n = {row['n']})" for row in found.to_dict("records")
    ]
    wide = found.assign(text=texts).pivot_table(
        index=PAIR, columns="machine", values="text", aggfunc="first", sort=False
    )
    cells = wide.reindex(columns=machines).fillna("not measured").reset_index()
    cells = cells.rename(columns={"global_batch": "batch"}).rename_axis(columns=None)
    return cells.assign(batch=cells["batch"].map("{:,}".format))
