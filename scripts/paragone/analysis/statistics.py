"""Median and bootstrap interval of repeated runs; p values of a family. Never the best of several."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

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
    interval = scipy.stats.bootstrap(
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
