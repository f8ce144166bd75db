"""What repeats can decide, and how many fit into a budget, from an earlier run's variance and times."""

import math
import re
from typing import Any

import numpy as np
import pandas as pd

from paragone.analysis.statistics import fewest
from paragone.base.errors import UserError
from paragone.config.questions import CELL

LEAST, LAST = "the least that can decide", "the variance of the last run"
_UNITS = {"min": 60, "h": 3600}


def seconds_of(budget: str) -> float:
    """A budget such as 90min or 8h, in seconds. Raises `UserError`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(min|h)", budget)
    if not found:
        raise UserError(f"budget: {budget!r} is no time; write 90min or 8h, say")
    return float(found[1]) * _UNITS[found[2]]


def plan(
    questions: list[dict[str, Any]],
    primary: dict[str, str],
    runs: pd.DataFrame,
    differences: dict[str, pd.DataFrame],
    budget: float | None = None,
) -> pd.DataFrame:
    """One row per experiment of `config.questions`, that of the primary question first.

    `runs`, `differences` (by experiment): the tables of an earlier run, or empty. `pairs_needed`: for the
    speed of all its pairs, NaN if no affordable number decides; from their variance, or the fewest that can
    decide at all. `seconds`: of one repeat, NaN where a cell was not run before; an absent device takes none.
    `proposed`: `repeats`, or with a `budget` in seconds those that fit: each experiment once, then one after
    the other gets the pairs that it needs.
    """
    known = _seconds_of_a_run(runs) if len(runs) else {}
    rows = []
    for question in sorted(
        questions, key=lambda question: question["name"] != primary["experiment"]
    ):
        name, count = question["name"], question["comparisons"]
        needed, source = _pairs_needed(count, differences.get(name, pd.DataFrame()))
        cells = [tuple(cell[key] for key in CELL) for cell in question["cells"]]
        rows.append(
            {
                "experiment": name,
                "repeats": question["repeats"],
                "comparisons": count,
                "pairs_needed": needed,
                "from": source,
                "seconds": sum(known.get(cell, math.nan) for cell in cells),
                "proposed": question["repeats"],
            }
        )
    if budget is not None:
        _fit(rows, budget)
    return pd.DataFrame([{**row, "decides": _decides(row)} for row in rows])


def _seconds_of_a_run(runs: pd.DataFrame) -> dict[tuple, float]:
    cells = runs.groupby(CELL)
    absent = cells["status"].agg(lambda statuses: (statuses == "unavailable").all())
    return cells["end_to_end_seconds"].median().where(~absent.astype(bool), 0.0).to_dict()


def _pairs_needed(comparisons: int, differences: pd.DataFrame) -> tuple[float, str]:
    if not comparisons:
        return 1, "nothing to compare"
    least = fewest(comparisons)
    if differences.empty:
        return least, LEAST
    rows = differences[(differences["metric"] == "speed") & (differences["n"] >= 3)]
    if rows.empty:
        return least, LEAST
    return float(np.maximum(least, rows["needed"].max(skipna=False))), LAST  # NaN stays


def _fit(rows: list[dict[str, Any]], budget: float) -> None:
    """Propose the repeats that fit. Raises `UserError` where no earlier run says how long they take."""
    if unknown := [row["experiment"] for row in rows if math.isnan(row["seconds"])]:
        raise UserError(
            f"budget: no earlier run says how long {', '.join(unknown)} takes; "
            "run `all` once, it is the pilot"
        )
    left = budget - sum(row["seconds"] for row in rows)
    for row in rows:
        more = 0 if math.isnan(row["pairs_needed"]) else int(row["pairs_needed"]) - 1
        more = min(more, max(0, int(left // row["seconds"]))) if row["seconds"] else 0
        left -= more * row["seconds"]
        row["proposed"] = 1 + more


def _decides(row: dict[str, Any]) -> str:
    if not row["comparisons"]:
        return "nothing to compare"
    if math.isnan(row["pairs_needed"]):
        return "nothing: its runs vary too much"
    if row["proposed"] < row["pairs_needed"]:
        return f"nothing: {row['pairs_needed']:.0f} repeats would"
    maybe = "if runs vary little, " if row["from"] == LEAST else ""
    return f"{maybe}a difference in speed of 5 %, or equality"
