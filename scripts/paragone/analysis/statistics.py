"""Statistics of repeated runs and of contests: medians, tests of effects, and how many a verdict takes.

Nothing here is the best of several runs. Effects are logs of ratios, or differences. Those of contests are
judged by Student's t, see `OverContests`. Those of the two runs of a pair are judged by sign flips: if the
true effect is `shift`, effects minus `shift` are as likely as their negatives. Of two equal backends that
holds by exchange of the runs of a pair, whatever the size of the noise, and also where it changes from pair
to pair. Flipping the signs of a subset of pairs raises the mean to the observed one or above exactly where
the subset's mean is at most `shift`, so the means of all subsets hold every p value and every interval
(Hartigan 1969, J. Am. Stat. Assoc. 64:1303).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import scipy

CONFIDENCE = 0.95
RESAMPLES = 9999
INTERVAL = "95 % bootstrap interval"  # how figures and tables name it
ALPHA = 1 - CONFIDENCE
EXACT = 13  # pairs up to which all subsets are enumerated; beyond, random ones
POWER = 0.8
MOST_PAIRS = 60  # a question that takes more is called hopeless
FEWEST_CONTESTS = 3  # from which a verdict is given
# By two pairs the standard deviation may come out as a sixteenth of its true value.
FEWEST_EFFECTS = 3
# A family of fewer pairs counts as one of so many where contests decide, because a coordinator looks after
# each contest and stops as soon as all pairs are decided: see tests/nightly/test_verdict_campaign.py.
LEAST_FAMILY = 4
_RANDOM = 9999


def fewest(comparisons: int) -> int:
    """The least number of pairs with which sign flips, adjusted for `comparisons`, can reach 5 %."""
    return math.ceil(1 + math.log2(max(comparisons, 1) / 0.05))


def least_p(pairs: int) -> float:
    """The least two-sided p value that sign flips of so many pairs can give."""
    return 2.0 / (1 + min(2**pairs - 1, _RANDOM))


@dataclass(frozen=True)
class Summary:
    """`n` values, their median, and its interval [`low`, `high`] (NaN when n < 2)."""

    n: int
    median: float
    low: float
    high: float


def summarize(values: pd.Series | list[float]) -> Summary:
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
        rng=np.random.default_rng(0),
    ).confidence_interval
    return Summary(len(known), median, float(interval.low), float(interval.high))


def summarize_times(seconds: pd.Series, reached: pd.Series) -> Summary:
    """Median time to a target and its interval, over all runs; a miss counts as infinitely late.

    A median or bound is infinite where too many runs missed.
    """
    # Finite, but so large that means and quantiles with it exceed any number of seconds.
    late = 1e100
    times = seconds.astype("float64").where(reached.astype(bool), late)
    summary = summarize(times)
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


def holm_of_contests(p_values: list[float]) -> list[float]:
    """p values adjusted for their number, and for the looks at them after each contest (`LEAST_FAMILY`)."""
    factor = max(1.0, LEAST_FAMILY / max(len(p_values), 1))
    return [min(1.0, factor * p) for p in holm(p_values)]


class Effects:
    """The effects of n pairs: their `mean`, p values, and the `interval` of the true effect."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        self.mean = float(self.values.mean()) if len(self.values) else math.nan
        chosen = subsets(len(self.values))
        self._means = np.sort(chosen @ self.values / np.maximum(chosen.sum(1), 1))
        # Means that are equal but for rounding count as such: never in favour of a difference.
        self._rounding = 1e-12 * float(np.abs(self.values).max(initial=0))

    def p_above(self, shift: float = 0.0) -> float:
        """One-sided p value of "the true effect is at most `shift`"."""
        below = np.searchsorted(self._means, shift + self._rounding, "right")
        return float((1 + below) / (1 + len(self._means)))

    def p_below(self, shift: float = 0.0) -> float:
        """One-sided p value of "the true effect is at least `shift`"."""
        not_above = np.searchsorted(self._means, shift - self._rounding, "left")
        return float((1 + len(self._means) - not_above) / (1 + len(self._means)))

    def p_differs(self) -> float:
        """Two-sided p value of "there is no effect"; at least 2 / 2^n."""
        return min(1.0, 2 * min(self.p_above(), self.p_below()))

    def p_within(self, margin: float) -> float:
        """p value of "the true effect is `margin` or more, up or down": two one-sided tests."""
        return max(self.p_above(-margin), self.p_below(margin))

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        """The shifts that a two-sided test at `alpha` does not reject; infinite from too few pairs."""
        rank = math.floor(alpha / 2 * (1 + len(self._means)))
        if rank < 1:
            return -math.inf, math.inf
        return float(self._means[rank - 1]), float(self._means[-rank])

    def needed(self, margin: float, comparisons: int) -> int | None:
        """How many decide in all, judged by those at hand; None if more than `MOST_PAIRS`."""
        return pairs_that_decide(self.values, margin, comparisons)


class OverContests(Effects):
    """The effects of n contests, each the median over its rounds: tests and intervals by Student's t.

    Few contests are too coarse for sign flips; fewer than `FEWEST_CONTESTS` decide nothing. Contests end as
    soon as all pairs of a family are decided: adjust their p values by `holm_of_contests`.
    """

    def __init__(self, values: np.ndarray) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        n = len(self.values)
        self.mean = float(self.values.mean()) if n else math.nan
        enough = n >= FEWEST_CONTESTS
        deviation = max(float(self.values.std(ddof=1)), 1e-9) if enough else math.inf
        self._scale = deviation / math.sqrt(max(n, 1))
        self._freedom = max(n - 1, 1)

    def p_above(self, shift: float = 0.0) -> float:
        """One-sided p value of "the true effect is at most `shift`"."""
        return self._share_below((shift - self.mean) / self._scale)

    def p_below(self, shift: float = 0.0) -> float:
        """One-sided p value of "the true effect is at least `shift`"."""
        return self._share_below((self.mean - shift) / self._scale)

    def _share_below(self, t: float) -> float:
        return float(scipy.special.stdtr(self._freedom, t))

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        """The shifts that a two-sided test at `alpha` does not reject; infinite from too few contests."""
        half = float(scipy.special.stdtrit(self._freedom, 1 - alpha / 2)) * self._scale
        return self.mean - half, self.mean + half

    def needed(self, margin: float, comparisons: int) -> int | None:
        """How many decide in all, judged by the deviation and mean of those at hand; None if more than
        `MOST_PAIRS`."""
        n = len(self.values)
        if n < FEWEST_CONTESTS:
            return FEWEST_CONTESTS
        # An effect beyond the margin is sought itself; one within has the rest of the margin to be shown in.
        apart = abs(self.mean)
        sought = max(apart, margin - apart)
        alpha = ALPHA / max(comparisons, LEAST_FAMILY)
        relative = self._scale * math.sqrt(n) / sought
        for count in range(FEWEST_CONTESTS, MOST_PAIRS + 1):
            if _power_of_t(relative, alpha, count, equal=apart < margin - apart) >= POWER:
                return count
        return None


@lru_cache(maxsize=32)
def subsets(n: int) -> np.ndarray:
    """Rows of ones and zeros: every subset of n pairs but the empty one, or random ones of many pairs."""
    if n <= EXACT:
        return (np.arange(1, 2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
    random = np.random.default_rng(0).integers(0, 2, (_RANDOM, n))
    return random[random.any(axis=1)].astype(np.float64)


def deviation_bound(effects: np.ndarray) -> float:
    """The upper 80 % bound of the standard deviation of effects, or of runs; infinite from fewer than two."""
    n = len(effects)
    if n < 2:
        return math.inf
    return float(
        np.std(effects, ddof=1) * math.sqrt((n - 1) / scipy.stats.chi2.ppf(1 - POWER, n - 1))
    )


def effect_bound(effects: np.ndarray) -> float:
    """The lower 80 % bound of the size of the mean effect of two or more pairs; may be negative."""
    n = len(effects)
    spread = deviation_bound(effects) / math.sqrt(n)
    return float(abs(np.mean(effects)) - scipy.stats.t.ppf(POWER, n - 1) * spread)


def pairs_that_decide(effects: np.ndarray, margin: float, comparisons: int) -> int | None:
    """The pairs that a question takes in all, judged by those at hand. None if more than `MOST_PAIRS`.

    Of `pairs_needed` with the bound of their deviation; with that of their effect in place of the margin
    where it is beyond.
    """
    if len(effects) < FEWEST_EFFECTS:
        return fewest(comparisons)
    sought = max(margin, float(f"{effect_bound(effects):.2g}"))
    return pairs_needed(float(f"{deviation_bound(effects):.2g}"), sought, comparisons)


@lru_cache(maxsize=4096)
def pairs_needed(deviation: float, margin: float, comparisons: int) -> int | None:
    """The pairs that decide: an effect of `margin` is found, and none is shown to be within it, with a
    probability of `POWER` each. None if more than `MOST_PAIRS`.

    `deviation`: standard deviation of the effects, normally distributed.
    """
    if not math.isfinite(deviation):
        return None
    alpha = ALPHA / max(comparisons, 1)
    for n in range(fewest(comparisons), MOST_PAIRS + 1):
        if deviation == 0:
            return n
        power = _of_sign_flips if n <= EXACT else _of_t_test
        if power(deviation / margin, alpha, n) >= POWER:
            return n
    return None


def _of_t_test(deviation: float, alpha: float, n: int) -> float:
    """The power of the t test, to which that of sign flips of many pairs is equal; in units of the margin."""
    margin = math.sqrt(n) / deviation
    within = 2 * scipy.stats.t.cdf(margin - scipy.stats.t.ppf(1 - alpha, n - 1), n - 1) - 1
    return min(_power_of_t(deviation, alpha, n, equal=False), float(within))


def _power_of_t(deviation: float, alpha: float, n: int, *, equal: bool) -> float:
    """The power to find an effect of 1 by a t test of n effects that vary by `deviation`; or, where `equal`,
    to show by a one-sided test that the mean is less than 1 from where it is."""
    level = alpha if equal else alpha / 2
    away = math.sqrt(n) / deviation
    return float(scipy.stats.nct.sf(scipy.stats.t.ppf(1 - level, n - 1), n - 1, away))


def _of_sign_flips(deviation: float, alpha: float, n: int) -> float:
    """The power of sign flips of few pairs, whose p values are coarse, by simulation."""
    chosen = subsets(n)
    draws = np.random.default_rng(0).normal(0, deviation, (1000, n))
    means = draws @ chosen.T / chosen.sum(1)
    rare = (1 + (means <= -1).sum(1)) / 2**n  # p of "the margin or more below", of each draw
    within = np.maximum(rare, (1 + (means >= 1).sum(1)) / 2**n) <= alpha
    return float(min(np.mean(rare <= alpha / 2), np.mean(within)))
