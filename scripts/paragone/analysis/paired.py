"""Paired runs: test, interval and equivalence of one statistic, the mean effect over pairs.

An effect is the log of a ratio or a difference of two runs of a pair. All inference uses sign flips:
if the true effect is `shift`, effects minus `shift` are as likely as their negatives. Of two equal
backends that holds by exchange of the runs of a pair, whatever the size of the noise, and also where it
changes from pair to pair. Flipping the signs of a subset of pairs raises the mean to the observed one or
above exactly where the subset's mean is at most `shift`, so the means of all subsets hold every p value
and every interval (Hartigan 1969, J. Am. Stat. Assoc. 64:1303).
"""

import math
from functools import lru_cache

import numpy as np

from paragone.analysis.statistics import CONFIDENCE

ALPHA = 1 - CONFIDENCE
EXACT = 13  # pairs; beyond, random subsets in place of all
_RANDOM = 9999


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


@lru_cache(maxsize=32)
def subsets(n: int) -> np.ndarray:
    """Rows of ones and zeros: every subset of n pairs but the empty one, or random ones of many pairs."""
    if n <= EXACT:
        return (np.arange(1, 2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
    random = np.random.default_rng(0).integers(0, 2, (_RANDOM, n))
    return random[random.any(axis=1)].astype(np.float64)
