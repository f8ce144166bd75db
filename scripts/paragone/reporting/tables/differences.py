"""The backends of an experiment compared with each other, two by two."""

import pandas as pd

from paragone.analysis.pairwise import differences
from paragone.reporting import footnotes, words
from paragone.reporting.beside_each_other import MARGINS, METHOD, cells
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

NONE = (
    "No two backends trained the same workload at the same global batch in the same division: "
    "nothing to compare."
)


def table(inputs: Inputs) -> Table:
    """One row per metric and pair of backends."""
    runs = inputs.runs
    found = words.with_words(differences(runs, inputs.labels))
    found["family"] = "exploratory"
    primary = inputs.settings["primary"]
    if primary["experiment"] in set(runs["experiment"]):
        found.loc[found["metric"] == primary["metric"], "family"] = "primary"
    method = [METHOD, MARGINS, family(found, primary["metric"])] if len(found) else [NONE]
    shown = cells(found)
    layout = f"llrllr{WIDE}r{WIDE}{WIDE}"
    block = Block(shown, layout if shown.shape[1] == 10 else f"l{layout}")
    remarks = footnotes.about(runs, *method)
    return Table(found, f"{inputs.title}: backends compared", remarks, [block])


def family(found: pd.DataFrame, metric: str) -> str:
    """Which rows are the question of the report, and which are exploratory."""
    if (found["family"] == "primary").any():
        return f"The rows of {metric} are the report's primary family; the others are exploratory."
    return "Exploratory: the report's primary family is of another experiment."
