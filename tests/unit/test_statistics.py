"""Medians and intervals against values worked out by hand."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

from paragone.analysis.statistics import summarize, summarize_by


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


def test_repeatable_and_never_the_best():
    values = list(np.random.default_rng(1).normal(100, 5, 12))
    assert summarize(values) == summarize(values)
    assert summarize(values).median < max(values)
    assert summarize(values).low > min(values)


def test_summarize_by_keeps_groups_apart():
    frame = pd.DataFrame({"epoch": [1, 1, 2], "loss": [1.0, 3.0, 9.0]})
    rows = summarize_by(frame, ["epoch"], "loss")
    assert rows["median"].tolist() == [2.0, 9.0]
    assert rows["n"].tolist() == [2, 1]
    with pytest.raises(KeyError):
        summarize_by(frame, ["epoch"], "no such column")
