"""Sentences on pairs of ways of training: who is best, who is equal, and what could not be compared."""

import math

import pandas as pd

from paragone.analysis import pair_sentences


def pairs(*rows: tuple[str, str, str, float], n: int = 7) -> pd.DataFrame:
    """Rows of a table of differences on speed: two names, the verdict, the effect."""
    return pd.DataFrame(
        {
            "metric": "speed",
            "division": "as-installed",
            "first": first,
            "second": second,
            "verdict": verdict,
            "effect": effect,
            "low": effect - 0.01,
            "high": effect + 0.01,
            "p_adjusted": 0.01 if verdict.endswith("faster") else 1.0,
            "ratio": True,
            "n": n,
            "why": "3 more pairs are needed",
        }
        for first, second, verdict, effect in rows
    )


def test_what_lost_to_one_that_may_be_the_best_is_not_among_them():
    """Though it is equal to another: effects near the margin."""
    text = pair_sentences.sentence(
        pairs(
            ("A", "B", "equal within 5 %", 1.03),
            ("A", "C", "equal within 5 %", 0.98),
            ("B", "C", "C is faster", 0.94),
        )
    )
    assert text == (
        "the best is A or C; A and C are equal within 5 %: 1.02 x [1.01, 1.03] apart; "
        "C is 1.06 x [1.05, 1.08] faster than B (n = 7 pairs)."
    )


def test_winners_in_a_circle_are_all_told():
    text = pair_sentences.sentence(
        pairs(
            ("A", "B", "A is faster", 1.1),
            ("B", "C", "B is faster", 1.1),
            ("A", "C", "C is faster", 0.9),
        )
    )
    assert text.count(" faster than ") == 3


def test_what_could_not_be_compared_is_said_beside_the_best():
    table = pairs(("A", "B", "A is faster", 1.2), ("A", "C", "not compared", math.nan))
    table["why"] = ["", "C: speed window too short"]
    assert pair_sentences.sentence(table) == (
        "A is best: 1.20 x [1.19, 1.21] faster than B; not compared (C: speed window too short) "
        "(n = 7 pairs)."
    )


def test_equal_memory_of_few_pairs_has_no_interval():
    table = pairs(("A", "B", "equal within 10 %", 1.01), n=5).assign(metric="peak memory")
    table[["low", "high"]] = 0.0, math.inf
    assert pair_sentences.sentence(table) == (
        "A and B are equal within 10 %: 1.01 x apart (n = 5 pairs)."
    )
