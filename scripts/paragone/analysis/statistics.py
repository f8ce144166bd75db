"""Median and bootstrap interval of repeated runs, and the test of a difference. Never the best of several."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import bootstrap, permutation_test

CONFIDENCE = 0.95
RESAMPLES = 9999
INTERVAL = "95 % bootstrap interval"  # how figures and tables name it


@dataclass(frozen=True)
class Summary:
    """`n` values, their median, and its interval [`low`, `high`] (NaN when n < 2)."""

    n: int
    median: float
    low: float
    high: float

    @property
    def has_interval(self) -> bool:
        """Whether there were enough values for an interval."""
        return self.n >= 2


def summarize(values: pd.Series | list[float], seed: int = 0) -> Summary:
    """Median and 95 % percentile bootstrap interval of `values`; missing values are left out.

    Resampling is seeded: equal values give equal intervals. With one value there is no interval; with
    none the median is NaN, too. With fewer than six values the interval cannot exceed their range, and its
    coverage is below 95 %.
    """
    known = np.asarray(pd.Series(values, dtype="float64").dropna(), dtype=np.float64)
    if len(known) == 0:
        return Summary(0, np.nan, np.nan, np.nan)
    median = float(np.median(known))
    if len(known) == 1 or np.ptp(known) == 0:
        edge = np.nan if len(known) == 1 else median
        return Summary(len(known), median, edge, edge)
    interval = bootstrap(
        (known,),
        np.median,
        confidence_level=CONFIDENCE,
        n_resamples=RESAMPLES,
        method="percentile",  # BCa breaks down for the median of few or tied values
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Summary(len(known), median, float(interval.low), float(interval.high))


def summarize_by(
    frame: pd.DataFrame, keys: list[str], column: str, *, sort: bool = True
) -> pd.DataFrame:
    """One row per group of `keys` (sorted): the keys, `n`, `median`, `low`, `high` of `column`."""
    rows = []
    for group, part in frame.groupby(keys, sort=sort, dropna=False):
        summary = summarize(part[column])
        rows.append({**dict(zip(keys, group, strict=True)), **vars(summary)})
    return pd.DataFrame(rows, columns=[*keys, "n", "median", "low", "high"])


def summarize_times(seconds: pd.Series, reached: pd.Series, seed: int = 0) -> Summary:
    """Median time to a target and its interval, over all runs; a miss counts as infinitely late.

    A median or bound is infinite where too many runs missed.
    """
    # Finite, but so large that means and quantiles with it exceed any number of seconds.
    late = 1e100
    times = seconds.astype("float64").where(reached.astype(bool), late)
    summary = summarize(times, seed)
    values = (summary.median, summary.low, summary.high)
    return Summary(summary.n, *(np.inf if value > late / 1e6 else value for value in values))


def paired_p(differences: pd.Series | list[float]) -> float:
    """Two-sided p value of "these paired differences have no preferred sign".

    Sign-flip permutation test of the mean: exact for up to 13 pairs, by 9,999 random flips beyond. It
    assumes only that the noise is exchangeable within a pair. The smallest p value is 2 / 2^n: see
    `pairs_needed`.
    """
    values = np.asarray(differences, dtype=np.float64)
    if len(values) < 2:
        return 1.0
    found = permutation_test(
        (values, np.zeros_like(values)),
        lambda first, second, axis: np.mean(first - second, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,  # scipy enumerates all flips where there are no more of them
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)


def pairs_needed(comparisons: int) -> int:
    """The least number of pairs with which `paired_p`, adjusted for `comparisons`, can reach 5 %."""
    return math.ceil(1 + math.log2(comparisons / (1 - CONFIDENCE)))


def holm(p_values: list[float]) -> list[float]:
    """p values adjusted for their number, in the same order (Holm 1979, Scand. J. Stat. 6:65).

    With probability 95 % no true hypothesis has an adjusted p <= 5 %.
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    stepped = np.maximum.accumulate(np.asarray(p_values, dtype=np.float64)[order] * factors)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted.tolist()
