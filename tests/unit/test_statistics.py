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


def test_median_of_odd_and_even_counts():
    assert summarize([3.0, 1.0, 2.0]).median == 2.0
    assert summarize([4.0, 1.0, 2.0, 3.0]).median == 2.5


def test_interval_of_three_is_their_range():
    # Of 27 resamples of three values one has only the lowest, six have it twice: the median is the
    # lowest with probability 7/27, far over 2.5 %. So the interval is the range.
    summary = summarize([10.0, 11.0, 15.0])
    assert (summary.low, summary.high) == (10.0, 15.0)


def test_interval_agrees_with_the_exact_bootstrap_distribution():
    values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    exact = [np.median(resample) for resample in product(values, repeat=6)]
    summary = summarize(values)
    assert summary.median == 6.0
    for bound, share in ((summary.low, 0.025), (summary.high, 0.975)):
        assert np.mean(np.array(exact) < bound) <= share + 0.02
        assert np.mean(np.array(exact) <= bound) >= share - 0.02


def test_one_value_has_no_interval():
    summary = summarize([5.0])
    assert (summary.n, summary.median, summary.has_interval) == (1, 5.0, False)
    assert math.isnan(summary.low)
    assert math.isnan(summary.high)


def test_equal_values_have_an_interval_of_no_width():
    summary = summarize([5.0, 5.0, 5.0])
    assert (summary.low, summary.high, summary.has_interval) == (5.0, 5.0, True)


def test_missing_values_do_not_count():
    assert summarize(pd.Series([1.0, None, 3.0])).n == 2
    assert summarize([]).n == 0
    assert math.isnan(summarize([]).median)


def test_an_interval_is_the_same_each_time():
    values = list(np.random.default_rng(1).normal(100, 5, 12))
    assert summarize(values) == summarize(values)


VALUES = [[1, 2, 3], [-1, 2, 4, 8], [0.5, -0.1, 2, 2, 3, -4, 1], [0.0, 0.0, 1.0]]
SHIFTS = [0.0, 0.7, -1.3, 2.0]


def flipped_share(values, shift, side):
    """One-sided p value: of all sign flips about `shift`, the share with as extreme a mean."""
    rest = np.subtract(values, shift)
    means = [np.mean(rest * signs) for signs in product((-1, 1), repeat=len(rest))]
    return np.mean([side * mean >= side * rest.mean() - 1e-12 for mean in means])


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("shift", SHIFTS)
def test_p_values_are_those_of_all_sign_flips(values, shift):
    found = Effects(values)
    assert found.p_above(shift) == pytest.approx(flipped_share(values, shift, 1))
    assert found.p_below(shift) == pytest.approx(flipped_share(values, shift, -1))


@pytest.mark.parametrize("values", VALUES)
def test_equivalence_is_two_one_sided_tests(values):
    for margin in (0.5, 2.0, 10.0):
        expected = max(flipped_share(values, -margin, 1), flipped_share(values, margin, -1))
        assert Effects(values).p_within(margin) == pytest.approx(expected)


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


def test_interval_covers_the_truth_whatever_signs_the_noise_has():
    """Over all exchanges about the truth: at least 95 %, of six pairs all but two in 64."""
    noise = np.array([0.3, 1.0, 0.2, 5.0, 0.7, 2.0])
    covered = []
    for signs in product((-1, 1), repeat=6):
        low, high = Effects(3 + noise * signs).interval()
        covered.append(low <= 3 <= high)
    assert np.mean(covered) == pytest.approx(62 / 64)


def test_many_pairs_are_tested_by_random_flips():
    values = np.random.default_rng(1).normal(0.5, 1, EXACT + 7)
    found, expected = Effects(values), permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=50_000, rng=1
    ).pvalue  # fmt: skip
    assert found.p_differs() == pytest.approx(expected, abs=0.01)
    assert len(subsets(len(values))) > 9_990
    assert Effects(np.ones(EXACT + 7)).p_differs() <= 0.001


NOISES = {
    "normal": lambda rng, n: rng.normal(size=n) - rng.normal(size=n),
    "a slow run now and then": lambda rng, n: rng.pareto(1.5, n) - rng.pareto(1.5, n),
    "a machine that slows down": lambda rng, n: (
        (1 + np.arange(n)) * (rng.normal(size=n) - rng.normal(size=n))
    ),
    "a coarse clock": lambda rng, n: rng.integers(0, 3, n) - rng.integers(0, 3, n),
}


def of_all_exchanges(effects, declares):
    """Share of all ways to exchange the two names within pairs in which a difference is declared."""
    signs = product((-1, 1), repeat=len(effects))
    return float(np.mean([declares(effects * np.array(some)) for some in signs]))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n", [2, 3, 5, 6, 8])
def test_of_one_backend_under_two_names_no_difference_is_declared(noise, n):
    """A/A: whatever the noise, in at most 5 % of all exchanges, and never from too few pairs."""
    rng = np.random.default_rng(5)
    for _ in range(3):
        effects = NOISES[noise](rng, n)
        rate = of_all_exchanges(effects, lambda some: Effects(some).p_differs() <= 0.05)
        assert rate <= 0.05
        assert rate == 0 or n >= fewest(1)


def test_the_check_above_can_fail():
    """A sign test without a distribution: the mean is beyond its standard error. Of eight, 1 in 3."""
    noise = NOISES["normal"](np.random.default_rng(7), 8)
    rate = of_all_exchanges(noise, lambda some: abs(some.mean()) > some.std(ddof=1) / np.sqrt(8))
    assert rate > 0.2


def test_of_one_backend_under_three_names_no_difference_is_declared():
    """Three comparisons at once: one false verdict in any of them counts."""
    rng = np.random.default_rng(6)
    count = 0
    for _ in range(3000):
        one, two, three = rng.lognormal(sigma=0.03, size=(3, 8))
        ratios = (one / two, one / three, two / three)
        count += min(holm([Effects(np.log(ratio)).p_differs() for ratio in ratios])) <= 0.05
    assert 0 < count / 3000 <= 0.05


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
