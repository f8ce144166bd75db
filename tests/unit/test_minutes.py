"""What contests have decided, the minutes that the rest takes, and what fits a budget."""

import pandas as pd
import pytest

from paragone.analysis.minutes import minutes_of, plan
from paragone.base.errors import UserError
from paragone.config.questions import asked

LENGTHS = {"rounds": 6, "window_seconds": 0.5, "minutes": 4, "sessions": 1}
ASKED = asked({"second": [2, 2], "first": [3], "runs alone": []}, LENGTHS)


def rows_of(relations: dict[str, float], n: int = 6, unit: str = "contest") -> pd.DataFrame:
    """Rows on speed: relation -> how many contests decide; each of six contests took 30 s."""
    rows = [
        {"metric": metric, "unit": unit, "n": n, "relation": relation, "needed": needed}
        for metric in ("speed", "end to end")
        for relation, needed in relations.items()
    ]
    return pd.DataFrame(rows).assign(workload="w", global_batch=1, unit_seconds=30.0)


def planned(*tables: pd.DataFrame, budget: float = 1e9) -> dict[str, dict]:
    """The rows by experiment."""
    found = plan(ASKED, "first", dict(zip(("first", "second"), tables, strict=False)), budget)
    assert found["experiment"].tolist() == ["first", "second"]  # the primary one, then the others
    return found.set_index("experiment").to_dict("index")


def test_without_contests_there_is_an_estimate():
    first, second = planned().values()
    assert (first["variants"], first["pairs"], first["contests"], first["open"]) == (3, 3, 0, 3)
    assert second["pairs"] == 2
    assert first["contest_minutes"] == pytest.approx(3 * (3 + 6 * 0.5) / 60)
    # To show that two are equal, at a deviation of 0.04 and a margin of 5 %.
    assert 6 <= first["minutes"] / first["contest_minutes"] <= 30
    assert first["estimated"]
    assert second["estimated"]


def test_contests_that_were_held_are_counted():
    found = planned(rows_of({"better": 4, "equal": 6, "undecided": 10}))["first"]
    assert [found[key] for key in ("contests", "decided", "equal", "open")] == [6, 1, 1, 1]
    assert found["minutes"] == 4 * 0.5  # four more
    assert not found["estimated"]
    assert planned(rows_of({"better": 4, "equal": 6}))["first"]["minutes"] == 0
    assert planned(rows_of({"undecided": float("nan")}))["first"]["minutes"] == float("inf")


def test_pairs_of_runs_and_two_contests_say_nothing():
    for table in (rows_of({"better": 6}, unit="pair"), rows_of({"undecided": 3}, 2)):
        assert planned(table)["first"]["estimated"]


def test_what_fits_a_budget():
    """The first takes two minutes, the second one."""
    tables = rows_of({"undecided": 10}), rows_of({"undecided": 8})
    for budget, fits in ((1, [False, True]), (2, [True, False]), (3, [True, True])):
        assert [row["fits"] for row in planned(*tables, budget=budget).values()] == fits


def test_of_the_others_those_with_most_open_pairs_a_minute_come_first():
    others = [one | {"experiment": name} for one in ASKED[:1] for name in ("slow", "quick")]
    tables = {"slow": rows_of({"undecided": 20}), "quick": rows_of({"undecided": 8})}
    found = plan([*others, ASKED[1]], "first", tables)
    assert found["experiment"].tolist() == ["first", "quick", "slow"]


def test_where_nothing_is_timed_in_turn_that_is_said():
    with pytest.raises(UserError, match="no experiment is timed in turn; add contests"):
        plan([], "first", {})


def test_times_of_a_budget():
    assert [minutes_of(text) for text in ("90min", "8h", "1.5 h")] == [90, 480, 90]
    with pytest.raises(UserError, match="'8 days' is no time"):
        minutes_of("8 days")
