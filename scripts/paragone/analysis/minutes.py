"""What contests have decided of each experiment, the minutes that the rest takes, and what fits a budget."""

import math
import re
from typing import Any

import numpy as np
import pandas as pd

from paragone.analysis.metrics import named
from paragone.analysis.pairwise import BETTER, EQUAL, NOT_COMPARED, PAIR, SPEED, UNDECIDED
from paragone.analysis.statistics import FEWEST_CONTESTS, OverContests
from paragone.base.errors import UserError
from paragone.config.questions import WORK

# Effects of contests, where fewer than three were held: apart as those of four variants on two shared cores.
TYPICAL = np.array([-0.04, 0.0, 0.04])
_UNITS = {"min": 1, "h": 60}


def minutes_of(budget: str) -> float:
    """A budget such as 90min or 8h, in minutes. Raises `UserError`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(min|h)", budget)
    if not found:
        raise UserError(f"budget: {budget!r} is no time; write 90min or 8h, say")
    return float(found[1]) * _UNITS[found[2]]


def plan(
    asked: list[dict[str, Any]],
    primary: str,
    differences: dict[str, pd.DataFrame],
    budget: float = math.inf,
) -> pd.DataFrame:
    """One row per experiment of `config.questions.asked`: the primary one first, then those whose open pairs
    take the fewest minutes each.

    differences: the tables of that name from earlier calls, by experiment. `contests`: those held.
    `contest_minutes`: what one of them takes. `minutes`: until every open pair is decided, infinite where no
    affordable number of contests decides it. `estimated`: not from contests of this machine, of which it
    takes three. `fits`: into what the rows above leave of the `budget`, in minutes. Raises `UserError` where
    no experiment has contests.
    """
    if not asked:
        raise UserError(
            "plan: no experiment is timed in turn; add contests: 12 to those that compare"
        )
    rows = [_row(one, differences.get(one["experiment"], pd.DataFrame())) for one in asked]
    rows.sort(key=lambda row: (row["experiment"] != primary, row["minutes"] / max(row["open"], 1)))
    for row in rows:
        row["fits"] = row["minutes"] <= budget
        budget -= row["minutes"] if row["fits"] else 0
    return pd.DataFrame(rows)


def _row(one: dict[str, Any], differences: pd.DataFrame) -> dict[str, Any]:
    row = {key: one[key] for key in ("experiment", "variants", "pairs")}
    row |= {"contests": 0, "contest_minutes": one["seconds"] / 60}
    row |= {"decided": 0, "equal": 0, "open": one["pairs"]}
    typical = OverContests(TYPICAL).needed(named(SPEED).limit, max(one["pairs"], 1)) or math.inf
    more, held = float(typical) if one["pairs"] else 0.0, 0
    if len(differences):
        timed = (differences["metric"] == SPEED) & (differences["unit"] != PAIR)
        speeds = differences[timed & (differences["relation"] != NOT_COMPARED)]
        held = int(speeds["n"].min()) if len(speeds) else 0
    if held:
        works = speeds.groupby(WORK)["unit_seconds"].max()
        counts = speeds["relation"].value_counts()
        row |= {"contests": held, "contest_minutes": works.sum() / 60}
        row |= {"decided": counts.get(BETTER, 0), "equal": counts.get(EQUAL, 0)}
        row["open"] = counts.get(UNDECIDED, 0)
        needed = speeds["needed"] if held >= FEWEST_CONTESTS else speeds["n"] * 0 + typical
        missing = (needed.fillna(math.inf) - speeds["n"])[speeds["relation"] == UNDECIDED]
        more = max(0.0, float(missing.max())) if len(missing) else 0.0
    row["minutes"] = more * row["contest_minutes"] if more else 0.0
    return row | {"estimated": held < FEWEST_CONTESTS}
