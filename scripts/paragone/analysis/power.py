"""How many pairs a question takes, from the variance of those at hand."""

import math
from functools import lru_cache

import numpy as np
import scipy

from paragone.analysis.paired import ALPHA, EXACT, subsets
from paragone.config.looks import fewest

POWER = 0.8
MOST = 60  # pairs; what takes more is called hopeless


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
    """The pairs that a question takes in all, judged by those at hand. None if more than `MOST`.

    Of `pairs_needed` with the bound of their deviation; with that of their effect in place of the margin
    where it is beyond.
    """
    if len(effects) < 2:
        return fewest(comparisons)
    sought = max(margin, float(f"{effect_bound(effects):.2g}"))
    return pairs_needed(float(f"{deviation_bound(effects):.2g}"), sought, comparisons)


@lru_cache(maxsize=4096)
def pairs_needed(deviation: float, margin: float, comparisons: int) -> int | None:
    """The pairs that decide: an effect of `margin` is found, and none is shown to be within it, with a
    probability of `POWER` each. None if more than `MOST`.

    `deviation`: standard deviation of the effects, normally distributed.
    """
    if not math.isfinite(deviation):
        return None
    alpha = ALPHA / max(comparisons, 1)
    for n in range(fewest(comparisons), MOST + 1):
        if deviation == 0:
            return n
        power = _of_sign_flips if n <= EXACT else _of_t_test
        if power(deviation / margin, alpha, n) >= POWER:
            return n
    return None


def _of_t_test(deviation: float, alpha: float, n: int) -> float:
    """The power of the t test, to which that of sign flips of many pairs is equal; in units of the margin."""
    margin = math.sqrt(n) / deviation
    found = scipy.stats.nct.sf(scipy.stats.t.ppf(1 - alpha / 2, n - 1), n - 1, margin)
    within = 2 * scipy.stats.t.cdf(margin - scipy.stats.t.ppf(1 - alpha, n - 1), n - 1) - 1
    return float(min(found, within))


def _of_sign_flips(deviation: float, alpha: float, n: int) -> float:
    """The power of sign flips of few pairs, whose p values are coarse, by simulation."""
    chosen = subsets(n)
    draws = np.random.default_rng(0).normal(0, deviation, (1000, n))
    means = draws @ chosen.T / chosen.sum(1)
    rare = (1 + (means <= -1).sum(1)) / 2**n  # p of "the margin or more below", of each draw
    within = np.maximum(rare, (1 + (means >= 1).sum(1)) / 2**n) <= alpha
    return float(min(np.mean(rare <= alpha / 2), np.mean(within)))
