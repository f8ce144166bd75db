"""Medians and intervals by hand; t tests, intervals, and the effects that are needed."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from paragone.analysis.statistics import Effects, decide, holm, summarize


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_factor_of_each_step_has_a_least_value():
    assert holm([0.01], 4) == [0.04]
    assert holm([0.01, 0.02, 0.5], 4) == pytest.approx([0.04, 0.08, 1])
    assert holm([0.01, 0.011, 0.012, 0.02, 0.02, 0.5], 4)[3:] == pytest.approx([0.08, 0.08, 1])


def of_p(p: float, size: float = 1.0) -> Effects:
    """Four effects of that two-sided p value, and of this mean."""
    spread = np.array([-1.0, -1.0, 1.0, 1.0])
    deviation = 2 * size / stats.t.isf(p / 2, 3)
    return Effects(size + spread * deviation * math.sqrt(3) / 2)


def test_the_looks_after_contests_count_as_a_pair_more_and_four_tests_at_least():
    """The one pair of equals beside five clear pairs is tested as often as each of these, looks included.

    Without that a verdict is wrong in 13 % of such questions.
    """
    clear = [of_p(0.001, size) for size in (1.0, -0.5, 0.4, -1.5, 0.9)]
    last, margin = of_p(0.02, 0.01), 0.05
    (*others, one), (*_, at_once) = (
        decide([*clear, last], margin, in_turn=in_turn) for in_turn in (True, False)
    )
    assert all(each.differs and not each.is_equal for each in others)
    assert others[0].p_differs == pytest.approx(7 * 0.001)
    assert others[0].level == pytest.approx(0.05 / 7)
    assert (one.p_differs, one.differs) == (pytest.approx(4 * 0.02), False)
    assert (at_once.p_differs, at_once.differs) == (pytest.approx(0.02), True)
    assert (one.level, at_once.level) == (pytest.approx(0.05 / 4), pytest.approx(0.05))
    assert one.tests == (4, 4)


def test_pairs_that_are_far_apart_are_no_candidates_for_equality():
    """Ten pairs, of which one is of equals: its test counts four times, and not eleven times."""
    equal, margin = Effects([-0.01, 0.0, 0.01, 0.0]), 0.05
    last = decide([*[of_p(0.001)] * 9, equal], margin, in_turn=True)[-1]
    assert last.p_equal == pytest.approx(4 * equal.p_within(margin))
    last = decide([*[of_p(0.001)] * 9, equal], margin, in_turn=False)[-1]
    assert last.p_equal == pytest.approx(10 * equal.p_within(margin))
    # Less than two margins away each counts, and so do the looks.
    last = decide([*[of_p(0.9, 0.09)] * 4, equal], margin, in_turn=True)[-1]
    assert last.p_equal == pytest.approx(6 * equal.p_within(margin))
    assert last.tests[0] == 6


def test_the_effect_is_the_typical_one_and_lies_in_its_interval():
    """A first contest beside much other work: the mean ratio would be 3.6, where two of three are 1.6."""
    effects = Effects(-np.log([0.05, 0.63, 0.65]))
    (one,) = decide([effects], 0.05, in_turn=True)
    low, high = effects.interval(one.level)
    assert math.exp(effects.median) == pytest.approx(1 / 0.63)
    assert low < effects.median < high
    assert not one.differs


@pytest.mark.parametrize(
    ("values", "n", "median", "ends"),
    [
        ([3.0, 1.0, 2.0], 3, 2.0, (1, 3)),
        ([4.0, 1.0, 2.0, 3.0], 4, 2.5, (1, 4)),
        ([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], 6, 6.0, (1.5, 24)),  # of all 6^6 resamples, too
        ([5.0], 1, 5.0, (math.nan, math.nan)),
        ([5.0, 5.0, 5.0], 3, 5.0, (5, 5)),
        ([1.0, None, 3.0], 2, 2.0, (1, 3)),
        ([], 0, math.nan, (math.nan, math.nan)),
    ],
)
def test_medians_and_their_intervals(values, n, median, ends):
    found = summarize(pd.Series(values, dtype=float))
    assert (found.n, found.low <= found.high) == (n, n > 1)
    assert (found.median, found.low, found.high) == pytest.approx((median, *ends), nan_ok=True)


VALUES = [[1, 2, 3], [-1, 2, 4, 8], [0.5, -0.1, 2, 2, 3, -4, 1], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize("values", VALUES)
def test_p_values_are_those_of_t_tests_and_equivalence_is_two_one_sided_tests(values):
    effects = Effects(values)
    p_of = {
        side: lambda shift, side=side: stats.ttest_1samp(values, shift, alternative=side).pvalue
        for side in ("greater", "less", "two-sided")
    }
    for shift in (0.0, 0.7, -1.3, 2.0):
        assert effects.p_above(shift) == pytest.approx(p_of["greater"](shift))
        assert effects.p_below(shift) == pytest.approx(p_of["less"](shift))
    assert effects.p_differs() == pytest.approx(p_of["two-sided"](0.0))
    for margin in (0.5, 2.0, 10.0):
        expected = max(p_of["greater"](-margin), p_of["less"](margin))
        assert effects.p_within(margin) == pytest.approx(expected)
    for alpha in (0.05, 0.01):
        low, high = effects.interval(alpha)
        assert effects.p_above(low) == pytest.approx(alpha / 2)
        assert effects.p_below(high) == pytest.approx(alpha / 2)


def test_fewer_than_three_effects_decide_nothing():
    for values in ([], [5.0], [5.0, 5.0]):
        effects = Effects(values)
        assert not effects.p_differs() <= 0.05
        assert not effects.p_within(10.0) <= 0.05
        assert effects.needed(0.05, 1, 1) == 3
    assert not np.isfinite(Effects([5.0, 5.0]).interval()).any()


def test_equal_effects_decide():
    assert Effects([5.0] * 3).p_differs() <= 0.001
    assert Effects([0.0] * 3).p_differs() == 1
    assert Effects([0.0] * 3).p_within(0.1) <= 0.001
    assert Effects([0.0] * 3).needed(0.1, 6, 6) == 3


@pytest.mark.parametrize(
    ("mean", "deviation", "comparisons", "needed"),
    [(0.0488, 0.04, 1, 8), (0.0488, 0.05, 3, 14), (0.0, 0.04, 3, 9), (0.01, 0.03, 1, 6)],
)
def test_the_effects_that_are_needed(mean, deviation, comparisons, needed):
    """In simulations they decided in four of five cases: of the margin, and of less than half of it."""
    at_hand = mean + deviation * np.array([-1.0, 0.0, 1.0])  # of this mean and deviation
    # Only the tests of its own kind count.
    kinds = (1, comparisons) if mean < 0.0244 else (comparisons, 1)
    assert Effects(at_hand).needed(0.0488, *kinds) == needed
    assert Effects([-0.2, 0.03, 0.2]).needed(0.0488, 1, 1) is None  # hopeless
