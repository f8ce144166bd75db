"""Medians and intervals by hand; sign flips by enumeration, error rates, and the pairs that are needed."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import permutation_test

from paragone.analysis.statistics import (
    EXACT,
    Effects,
    deviation_bound,
    fewest,
    holm,
    pairs_needed,
    subsets,
    summarize,
)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize(
    ("values", "n", "median", "ends"),
    [
        ([3.0, 1.0, 2.0], 3, 2.0, (1, 3)),
        ([4.0, 1.0, 2.0, 3.0], 4, 2.5, (1, 4)),
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


def test_interval_agrees_with_the_exact_bootstrap_distribution():
    values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    exact = [np.median(resample) for resample in product(values, repeat=6)]
    summary = summarize(values)
    assert summary.median == 6.0
    for bound, share in ((summary.low, 0.025), (summary.high, 0.975)):
        assert np.mean(np.array(exact) < bound) <= share + 0.02
        assert np.mean(np.array(exact) <= bound) >= share - 0.02


VALUES = [[1, 2, 3], [-1, 2, 4, 8], [0.5, -0.1, 2, 2, 3, -4, 1], [0.0, 0.0, 1.0]]


def flipped_share(values, shift, side):
    """One-sided p value: of all sign flips about `shift`, the share with as extreme a mean."""
    rest = np.subtract(values, shift)
    means = [np.mean(rest * signs) for signs in product((-1, 1), repeat=len(rest))]
    return np.mean([side * mean >= side * rest.mean() - 1e-12 for mean in means])


@pytest.mark.parametrize("values", VALUES)
def test_p_values_are_those_of_all_sign_flips_and_equivalence_is_two_one_sided_tests(values):
    found = Effects(values)
    for shift in (0.0, 0.7, -1.3, 2.0):
        assert found.p_above(shift) == pytest.approx(flipped_share(values, shift, 1))
        assert found.p_below(shift) == pytest.approx(flipped_share(values, shift, -1))
    for margin in (0.5, 2.0, 10.0):
        expected = max(flipped_share(values, -margin, 1), flipped_share(values, margin, -1))
        assert found.p_within(margin) == pytest.approx(expected)


def test_the_least_p_values():
    for n in range(2, 10):
        assert Effects([1.0] * n).p_differs() == pytest.approx(2 / 2**n)
        assert Effects([0.0] * n).p_within(0.1) == pytest.approx(1 / 2**n)
    assert Effects([5.0]).p_differs() == 1
    assert Effects([0.0] * 8).p_differs() == 1
    assert [fewest(count) for count in (1, 3, 6, 7)] == [6, 7, 8, 9]


def test_interval_holds_what_no_test_rejects():
    rng = np.random.default_rng(0)
    for n in (6, 7, 9):
        found = Effects(rng.normal(1, 1, n))
        low, high = found.interval()
        edge = 1e-9
        for inside in (low + edge, found.mean, high - edge):
            assert min(found.p_above(inside), found.p_below(inside)) > 0.025
        assert found.p_above(low - edge) <= 0.025
        assert found.p_below(high + edge) <= 0.025
    assert Effects([1.0] * 5).interval() == (-np.inf, np.inf)
    assert Effects([1, 2, 3, 4, 5, 9]).interval() == (1, 9)


def test_many_pairs_are_tested_by_random_flips():
    values = np.random.default_rng(1).normal(0.5, 1, EXACT + 7)
    found, expected = Effects(values), permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=50_000, rng=1
    ).pvalue  # fmt: skip
    assert found.p_differs() == pytest.approx(expected, abs=0.01)
    assert len(subsets(len(values))) > 9_990
    assert Effects(np.ones(EXACT + 7)).p_differs() <= 0.001


def test_bound_of_the_deviation_by_hand():
    # Chi-squared with 2 degrees of freedom is exponential: its 20 % quantile is -2 ln 0.8 = 0.44629.
    assert deviation_bound(np.array([-1.0, 0.0, 1.0])) == pytest.approx((2 / 0.44629) ** 0.5, 1e-4)
    assert deviation_bound(np.array([1.0])) == np.inf


@pytest.mark.parametrize(
    ("deviation", "comparisons"), [(0.02, 1), (0.03, 3), (0.04, 1), (0.05, 1), (0.04, 6)]
)
def test_the_pairs_that_are_needed_are_enough_and_hardly_more(deviation, comparisons):
    """Of fresh draws, both an effect of the margin and equality are shown in 80 %, up to 3 % of chance."""
    margin, alpha = 0.0488, 0.05 / comparisons
    n = pairs_needed(deviation, margin, comparisons)

    def power(pairs):
        draws = np.random.default_rng(9).normal(0, deviation, (1000, pairs))
        found = np.mean([Effects(one + margin).p_differs() <= alpha for one in draws])
        return min(found, np.mean([Effects(one).p_within(margin) <= alpha for one in draws]))

    assert power(n) >= 0.77
    assert n == fewest(comparisons) or power(n - 1) < 0.83


def test_what_is_hopeless_has_no_number_of_pairs():
    assert pairs_needed(0.2, 0.0488, 1) is None
    assert pairs_needed(np.inf, 0.0488, 1) is None
    assert pairs_needed(0.0, 0.0488, 3) == 7
