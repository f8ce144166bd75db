"""The table of series compared two by two."""

from typing import Any

import pandas as pd

from paragone.analysis import pairwise
from paragone.analysis.metrics import METRICS, margin_words
from paragone.reporting import footnotes, words
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import Table

PAIRED = (
    "Speed of variants timed in turn: the median over the rounds of a contest of the log ratio, its mean "
    "over contests; fewer than four pairs count as four, because contests end once all are decided. All "
    "else is paired by seed: mean log ratio (of accuracies: mean difference) over pairs. 95 % interval and p "
    "value by Student's t; equivalence: two one-sided tests. Interval and p are adjusted by Holm's method "
    "over the pairs of a metric; a verdict at p <= 0.05. Effect: by how much the first is better, so that a "
    "ratio below 1, or a difference below 0, speaks for the second, whatever the metric."
)
MARGINS = f"Margins: {', '.join(f'{metric.name} {margin_words(metric)}' for metric in METRICS)}."
NOTHING = (
    "No two backends trained the same workload at the same global batch with the same tuning: "
    "nothing to compare."
)
EXPLORATORY = "Exploratory: the report's primary family is of another experiment."
_PRINTED = ["metric", "workload", "batch", "first", "second", "n", "effect", "p", "verdict", "why"]


def differences(inputs: Inputs) -> Table:
    """Compare the backends of an experiment with each other: one row per metric and pair."""
    runs = inputs.runs
    rows = words.with_words(pairwise.differences(runs, inputs.labels, inputs.windows))
    rows["family"] = "exploratory"
    primary = inputs.settings["primary"]
    if primary["experiment"] in set(runs["experiment"]):
        rows.loc[rows["metric"] == primary["metric"], "family"] = "primary"
    notes = [PAIRED, MARGINS, EXPLORATORY] if len(rows) else [NOTHING]
    if (rows["family"] == "primary").any():
        others = "the report's primary family; the others are exploratory."
        notes[2] = f"The rows of {primary['metric']} are {others}"
    if (windows := inputs.windows) is not None:
        notes += footnotes.isolation(windows) + footnotes.violations(windows)
    several = len(set(rows["machine"])) > 1
    cells = _pairs(rows, ["machine", *_PRINTED] if several else _PRINTED)
    title, remarks = f"{inputs.title}: backends compared", footnotes.about(runs, *notes)
    return Table(rows, title, remarks, cells, rows["relation"], rows["runs"])


def _pairs(rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return the rows of `pairwise.differences` as texts."""
    cells = [
        {
            **row,
            "effect": _effect(row),
            "p": "" if pd.isna(row["p_adjusted"]) else f"{row['p_adjusted']:.3f}",
        }
        for row in rows.assign(batch=words.batches(rows)).to_dict("records")
    ]
    return pd.DataFrame(cells, columns=columns)


def _effect(row: dict[str, Any]) -> str:
    """Return by how much the first is better, with its interval if it has one."""
    if not row["n"]:
        return "-"
    if not row["ratio"]:
        return words.with_interval("{:+.4f}", row["effect"], row["low"], row["high"])
    # A ratio of 0 is the log of no bound.
    return words.with_interval("{:.3f} x", row["effect"], row["low"] or None, row["high"])
