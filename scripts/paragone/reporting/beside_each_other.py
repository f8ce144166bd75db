"""Tables of pairs that were compared: how, in words, and the rows as texts."""

import math

import pandas as pd

from paragone.analysis.metrics import METRICS, margin_words

METHOD = (
    "Paired by seed: mean log ratio (of accuracies: mean difference) over pairs, its 95 % interval "
    "and p value by sign flips, equivalence by two one-sided tests; p adjusted by Holm's method "
    "over the pairs of a metric; a verdict at p <= 0.05. Effect: by how much the first is better, so that a "
    "ratio below 1, or a difference below 0, speaks for the second, whatever the metric."
)
MARGINS = f"Margins: {', '.join(f'{one.name} {margin_words(one)}' for one in METRICS)}."
_PRINTED = ["metric", "workload", "batch", "first", "second", "n", "effect", "p", "verdict", "why"]


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
    names = _PRINTED if len(set(found["machine"])) < 2 else ["machine", *_PRINTED]
    return pd.DataFrame(rows, columns=names)


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
