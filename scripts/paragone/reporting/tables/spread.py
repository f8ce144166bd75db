"""Outcomes of runs that differ by seed, as published/spread.csv has them."""

from paragone.analysis.published import OUTCOMES, spread_of
from paragone.reporting import footnotes
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import Block, Table


def table(inputs: Inputs) -> Table:
    """In CSV one row per run and epoch; for a reader mean and standard deviation over seeds."""
    rows = spread_of(inputs.runs, inputs.epochs)
    groups = rows.groupby(["workload", "epoch"])
    cells = groups["seed"].count().rename("n").to_frame()
    for name in OUTCOMES:
        found = groups[name]
        cells[name] = found.mean().map("{:.4f}".format) + " ± " + found.std().map("{:.4f}".format)
    remarks = footnotes.about(inputs.runs, "Mean ± standard deviation over n seeds.")
    block = Block(cells.reset_index().astype(str), "llrrrrr")
    return Table(rows, inputs.title, remarks, [block])
