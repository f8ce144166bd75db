"""What repeats can decide, and how many fit into a budget, from an earlier run's variance and times."""

import re
from typing import Any

import pandas as pd

from paragone.analysis.statistics import fewest
from paragone.base.errors import UserError
from paragone.config.questions import CELL

COLUMNS = ["experiment", "repeats", "comparisons", "pairs_needed", "from", "seconds", "proposed"]
COLUMNS += ["decides"]
LEAST, LAST = "the least that can decide", "the variance of the last run"
MAYBE = "if runs vary little, "
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
    speed of all its pairs; from their variance, or the fewest that can decide at all. `seconds`: of one
    repeat, NaN where a cell was not run before; an absent device takes none. `proposed`: `repeats`, or with
    a `budget` in seconds those that fit: each experiment once, then one after the other gets the pairs that
    it needs.
    """
    known = _seconds_of_a_run(runs) if len(runs) else {}
    rows = []
    for question in sorted(
        questions, key=lambda question: question["name"] != primary["experiment"]
    ):
        needed, source = _pairs_needed(question, differences.get(question["name"]))
        seconds = [
            known.get(tuple(cell[key] for key in CELL), float("nan")) for cell in question["cells"]
        ]
        rows.append(
            {
                "experiment": question["name"],
                "repeats": question["repeats"],
                "comparisons": question["comparisons"],
                "pairs_needed": needed,
                "from": source,
                "seconds": sum(seconds),
                "proposed": question["repeats"],
            }
        )
    found = pd.DataFrame(rows)
    if budget is not None:
        found["proposed"] = _fitted(found, budget)
    found["decides"] = [_decides(row) for row in found.to_dict("records")]
    return found[COLUMNS]


def _seconds_of_a_run(runs: pd.DataFrame) -> dict[tuple, float]:
    cells = runs.groupby(CELL)
    found = cells["end_to_end_seconds"].median()
    absent = cells["status"].agg(lambda statuses: (statuses == "unavailable").all())
    return found.where(~absent.astype(bool), 0.0).to_dict()


def _pairs_needed(question: dict[str, Any], table: pd.DataFrame | None) -> tuple[int | None, str]:
    """None: no affordable number."""
    if not question["comparisons"]:
        return 1, "nothing to compare"
    least = fewest(question["comparisons"])
    if table is None or table.empty:
        return least, LEAST
    rows = table[(table["metric"] == "speed") & (table["n"] >= 3)]
    if rows.empty:
        return least, LEAST
    if rows["needed"].isna().any():
        return None, LAST
    return max(least, int(rows["needed"].max())), LAST


def _fitted(found: pd.DataFrame, budget: float) -> list[int]:
    if unknown := found.loc[found["seconds"].isna(), "experiment"].tolist():
        raise UserError(
            f"budget: no earlier run says how long {', '.join(unknown)} takes; "
            "run `all` once, it is the pilot"
        )
    left = budget - found["seconds"].sum()
    repeats = []
    for row in found.to_dict("records"):
        wanted = 1 if pd.isna(row["pairs_needed"]) else int(row["pairs_needed"])
        more = min(wanted - 1, max(0, int(left // row["seconds"]))) if row["seconds"] else 0
        left -= more * row["seconds"]
        repeats.append(1 + more)
    return repeats


def _decides(row: dict[str, Any]) -> str:
    if not row["comparisons"]:
        return "nothing to compare"
    if pd.isna(row["pairs_needed"]):
        return "nothing: its runs vary too much"
    if row["proposed"] >= row["pairs_needed"]:
        return f"{MAYBE if row['from'] == LEAST else ''}a difference in speed of 5 %, or equality"
    return f"nothing: {row['pairs_needed']:.0f} repeats would"
