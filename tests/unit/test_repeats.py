"""What repeats can decide, and how many fit a budget; the presets have those that their questions need."""

import pandas as pd
import pytest
from plan import Plan

from paragone.analysis.repeats import plan, seconds_of
from paragone.analysis.statistics import fewest
from paragone.base.errors import UserError
from paragone.config.questions import CELL, questions

A, B = (
    dict(zip(CELL, ("conv", name, 1, 100, "float32", "as-installed"), strict=True))
    for name in ("torch", "torch-xla")
)
QUESTIONS = [
    {"name": "second", "repeats": 1, "cells": [A], "comparisons": 0},
    {"name": "first", "repeats": 2, "cells": [A, B], "comparisons": 1},
]
PRIMARY = {"experiment": "first", "metric": "speed"}
RUNS = pd.DataFrame(
    [{**cell, "end_to_end_seconds": seconds} for cell, seconds in ((A, 10.0), (A, 12.0), (B, 30.0))]
).assign(status="completed")


def differences(needed: float | None, n: int = 3) -> dict[str, pd.DataFrame]:
    return {"first": pd.DataFrame([{"metric": "speed", "n": n, "needed": float(needed or "nan")}])}


def rows(*more) -> dict[str, dict]:
    found = plan(QUESTIONS, PRIMARY, RUNS, *more)
    assert found["experiment"].iloc[0] == "first"  # the primary question
    return found.set_index("experiment").to_dict("index")


def test_without_an_earlier_run_the_least_number_of_pairs_is_stated():
    found = plan(QUESTIONS, PRIMARY, pd.DataFrame(), {}).set_index("experiment")
    assert found.loc["first", ["pairs_needed", "proposed"]].tolist() == [6, 2]
    assert found.loc["first", "decides"] == "nothing: 6 repeats would"
    assert found["seconds"].isna().all()


@pytest.mark.parametrize(
    ("needed", "n", "expected"), [(9, 3, 9), (4, 3, 6), (9, 2, 6), (None, 3, None)]
)
def test_the_variance_of_an_earlier_run_counts_from_three_pairs_on(needed, n, expected):
    first = rows(differences(needed, n))["first"]
    assert first["pairs_needed"] == pytest.approx(float(expected or "nan"), nan_ok=True)
    assert (first["decides"] == "nothing: its runs vary too much") is (expected is None)


@pytest.mark.parametrize(("budget", "expected"), [(1000, 9), (200, 4), (1, 1)])
def test_a_budget_is_filled_with_what_is_needed_and_no_more(budget, expected):
    """A repeat of the first takes 41 s, of the second 11 s; each is run once, whatever the budget."""
    found = rows(differences(9), budget)
    assert found["first"]["seconds"] == 41
    assert found["first"]["proposed"] == expected
    assert found["second"]["proposed"] == 1
    assert ("nothing" in found["first"]["decides"]) is (expected < 9)


def test_a_budget_needs_a_pilot():
    with pytest.raises(UserError, match="budget: no earlier run says how long first"):
        plan(QUESTIONS, PRIMARY, pd.DataFrame(), {}, 100.0)


def test_times_of_a_budget():
    assert [seconds_of(text) for text in ("90min", "8h", "1.5 h")] == [5400, 28800, 5400]
    with pytest.raises(UserError, match="'8 days' is no time"):
        seconds_of("8 days")


@pytest.mark.parametrize("presets", [[], ["gpu"], ["paper"]], ids=str)
def test_the_repeats_of_the_presets_can_decide(presets):
    """The primary question; of the published protocols every one."""
    plan = Plan(*presets)
    primary = plan.config["primary"]["experiment"]
    for each in questions(plan.config, plan.experiments):
        if presets == ["paper"] or each["name"] == primary:
            assert each["repeats"] >= fewest(each["comparisons"]), each["name"]
