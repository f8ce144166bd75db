"""The backends of an experiment compared with each other, two by two."""

import math

import pandas as pd

from paragone.analysis.pairwise import METRICS, differences, margin_words
from paragone.config.looks import LOOKS
from paragone.reporting import footnotes
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

METHOD = (
    "Paired by seed: mean log ratio (of accuracies: mean difference) over pairs, its 95 % interval "
    "and p value by sign flips, equivalence by two one-sided tests; p adjusted by Holm's method "
    "over the pairs of a metric; a verdict at p <= 0.05."
)
MARGINS = f"Margins: {', '.join(f'{one.name} {margin_words(one)}' for one in METRICS)}."
PRINTED = ["metric", "workload", "batch", "first", "second", "n", "effect", "p", "verdict", "why"]
NONE = "No two backends trained the same workload at the same global batch: nothing to compare."


def table(inputs: Inputs) -> Table:
    """One row per metric and pair of backends."""
    runs, looks = inputs.runs, LOOKS if inputs.settings["until"] else 1
    prices = inputs.settings["prices"]
    found = differences(runs, inputs.labels, looks, prices["per_hour"])
    found["family"] = "exploratory"
    primary = inputs.settings["primary"]
    if primary["experiment"] in set(runs["experiment"]):
        found.loc[found["metric"] == primary["metric"], "family"] = "primary"
    notes = [METHOD, MARGINS]
    if looks > 1:
        notes.append(f"Repeats were added until decided: p and intervals count {looks} looks.")
    if set(found["metric"]) & {"cost per run", "cost to target"}:
        notes.append(
            f"Prices in {prices['currency']} per hour: {prices['source']}, {prices['date']}."
        )
    method = [*notes, family(found, primary["metric"])] if len(found) else [NONE]
    block = Block(cells(found), f"llrllr{WIDE}r{WIDE}{WIDE}")
    remarks = footnotes.about(runs, *method)
    return Table(found, f"{inputs.title}: backends compared", remarks, [block])


def family(found: pd.DataFrame, metric: str) -> str:
    """Which rows are the question of the report, and which are exploratory."""
    if (found["family"] == "primary").any():
        return f"The rows of {metric} are the report's primary family; the others are exploratory."
    return "Exploratory: the report's primary family is of another experiment."


def cells(found: pd.DataFrame) -> pd.DataFrame:
    """The rows of `pairwise.differences` as texts."""
    rows = [
        {
            **row,
            "batch": f"{row['global_batch']:,}",
            "effect": effect(row),
            "p": "" if pd.isna(row["p_adjusted"]) else f"{row['p_adjusted']:.3f}",
        }
        for row in found.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=PRINTED)


def effect(row: dict) -> str:
    """By how much the first is better, with its interval if there is one."""
    if not row["n"]:
        return "-"
    form = "{:.3f} x" if row["ratio"] else "{:+.4f}"
    text = form.format(row["effect"])
    bounded = all(math.isfinite(row[edge]) and row[edge] > 0 for edge in ("low", "high"))
    if (row["ratio"] and not bounded) or not math.isfinite(row["low"]):
        return text
    return f"{text} [{form.format(row['low'])}, {form.format(row['high'])}]"
