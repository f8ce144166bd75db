"""Statistics of repeated runs and of contests: medians, tests of effects, and how many a verdict takes.

Nothing here is the best of several runs. An effect is the log of a ratio, or a difference, of two variants:
in one contest, or in two runs with the same seed. Both are judged by the same tests, see `decide`.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

CONFIDENCE = 0.95
RESAMPLES = 9999
INTERVAL = "95 % bootstrap interval"  # how figures and tables name it
ALPHA = 1 - CONFIDENCE
POWER = 0.8
FEWEST_EFFECTS = 3  # from which a verdict is given: two are too few for a variance
MOST_EFFECTS = 60  # a question that takes more is called hopeless
# What p values are multiplied by at least where contests decide, because a coordinator looks after each
# contest, and stops as soon as all pairs are decided: see tests/nightly/test_verdict_campaign.py.
LEAST_FACTOR = 4


@dataclass(frozen=True)
class Estimate:
    """`n` values, their median, and its interval [`low`, `high`] (NaN when n < 2)."""

    n: int
    median: float
    low: float
    high: float


def summarize(values: pd.Series | list[float]) -> Estimate:
    """Return the median and its 95 % percentile bootstrap interval; missing values are left out.

    Resampling is seeded: equal values give equal intervals. With one value there is no interval; with
    none the median is NaN, too. With fewer than six values the interval cannot exceed their range, and its
    coverage is below 95 %.
    """
    finite = np.asarray(pd.Series(values, dtype="float64").dropna(), dtype=np.float64)
    if len(finite) == 0:
        return Estimate(0, np.nan, np.nan, np.nan)
    median = float(np.median(finite))
    if len(finite) == 1 or np.ptp(finite) == 0:
        edge = np.nan if len(finite) == 1 else median
        return Estimate(len(finite), median, edge, edge)
    # As `scipy.stats.bootstrap`, whose import takes longer than a figure. BCa breaks down for the median of
    # few or tied values.
    places = np.random.default_rng(0).integers(0, len(finite), (RESAMPLES, len(finite)))
    ends = [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)]
    low, high = np.percentile(np.median(finite[places], axis=1), ends)
    return Estimate(len(finite), median, float(low), float(high))


def summarize_times(seconds: pd.Series, reached: pd.Series) -> Estimate:
    """Return the median time to a target and its interval; a miss counts as infinitely late.

    A median or bound is infinite where too many runs missed.
    """
    # Finite, but so large that means and quantiles with it exceed any number of seconds.
    late = 1e100
    times = seconds.astype("float64").where(reached.astype(bool), late)
    summary = summarize(times)
    values = (summary.median, summary.low, summary.high)
    return Estimate(summary.n, *(np.inf if value > late / 1e6 else value for value in values))


def holm(p_values: list[float], least: int = 1) -> list[float]:
    """Return p values adjusted for their number, in the same order (Holm 1979, Scand. J. Stat. 6:65).

    With probability 95 % no true hypothesis has an adjusted p <= 5 %. The factor of each step is the number
    of hypotheses that are left, or `least` if that is more.
    """
    order = np.argsort(p_values)
    factors = np.maximum(np.arange(len(p_values), 0, -1), least)
    stepped = np.maximum.accumulate(np.asarray(p_values, dtype=np.float64)[order] * factors)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted.tolist()


class Effects:
    """The effects of n contests, or of n pairs of runs: tests and intervals by Student's t.

    The effect that is shown is their `median`, because the question is what a typical process does: one in
    seven may be much slower, of which the mean of a few contests knows by chance. Tests and intervals are of
    the `mean`, whose errors about the median are as rare as they should be for three to eight contests: in
    so few, a slow process widens the interval by more than it moves the mean. Fewer than `FEWEST_EFFECTS`
    decide nothing.
    """

    def __init__(self, values: np.ndarray) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        n = len(self.values)
        self.mean = float(self.values.mean()) if n else math.nan
        self.median = float(np.median(self.values)) if n else math.nan
        enough = n >= FEWEST_EFFECTS
        self.deviation = max(float(self.values.std(ddof=1)), 1e-9) if enough else math.inf
        self._scale = self.deviation / math.sqrt(max(n, 1))
        self._freedom = max(n - 1, 1)

    def p_above(self, shift: float = 0.0) -> float:
        """Return the one-sided p value of "the true effect is at most `shift`"."""
        return float(scipy.special.stdtr(self._freedom, (shift - self.mean) / self._scale))

    def p_below(self, shift: float = 0.0) -> float:
        """Return the one-sided p value of "the true effect is at least `shift`"."""
        return float(scipy.special.stdtr(self._freedom, (self.mean - shift) / self._scale))

    def p_differs(self) -> float:
        """Return the two-sided p value of "there is no effect"."""
        return min(1.0, 2 * min(self.p_above(), self.p_below()))

    def p_within(self, margin: float) -> float:
        """Return the p value of "the effect is `margin` or more, up or down", by two one-sided tests."""
        return max(self.p_above(-margin), self.p_below(margin))

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        """Return the ends of the shifts that a two-sided test at `alpha` does not reject."""
        half = float(scipy.special.stdtrit(self._freedom, 1 - alpha / 2)) * self._scale
        return self.mean - half, self.mean + half

    def needed(self, margin: float, of_differences: int, of_equalities: int) -> int | None:
        """Return how many effects decide with a probability of `POWER`; None if over `MOST_EFFECTS`.

        Mean and deviation are those of the effects at hand. `of_differences`, `of_equalities`: by how many
        tests the p values of either kind are multiplied.
        """
        if len(self.values) < FEWEST_EFFECTS:
            return FEWEST_EFFECTS
        # An effect beyond the margin is sought itself; one within has the rest of the margin to be shown in.
        apart = abs(self.mean)
        equal = apart < margin - apart
        level = ALPHA / of_equalities if equal else ALPHA / of_differences / 2
        counts = np.arange(FEWEST_EFFECTS, MOST_EFFECTS + 1)
        away = max(apart, margin - apart) / self.deviation * np.sqrt(counts)
        critical = scipy.special.stdtrit(counts - 1, 1 - level)
        power = 1 - scipy.special.nctdtr(counts - 1, away, critical)
        enough = counts[power >= POWER]
        return int(enough[0]) if len(enough) else None


@dataclass(frozen=True)
class Decision:
    """What the tests of a family say of one pair.

    `p_differs`, `p_equal`: adjusted p values of no effect, and of one of the margin or more. `level`: that at
    which the method tests the pair, so that no effect is outside of the interval exactly if the pair differs.
    `tests`: by how many the p values of undecided pairs are multiplied, of differences and of equalities.
    """

    p_differs: float
    p_equal: float
    level: float
    tests: tuple[int, int]

    @property
    def differs(self) -> bool:
        """Return whether one of the pair is better."""
        return self.p_differs <= ALPHA

    @property
    def is_equal(self) -> bool:
        """Return whether the two are equal within the margin."""
        return self.p_equal <= ALPHA


def decide(family: list[Effects], margin: float, *, in_turn: bool) -> list[Decision]:
    """Return the decisions on the pairs of a family, in the same order.

    `in_turn`: contests end as soon as all pairs are decided. Holm's method is for one look, so that the looks
    count as a pair more, and each factor is at least `LEAST_FACTOR`. A pair whose mean effect is twice the
    margin or more is no candidate for equality, and does not count among these.
    """
    least = LEAST_FACTOR if in_turn else 1

    def adjusted(p_values: list[float]) -> list[float]:
        return holm([*p_values, *[1.0] * in_turn], least)[: len(p_values)]

    def factor(adjusted_p: list[float]) -> int:
        return max(sum(p > ALPHA for p in adjusted_p) + in_turn, least)

    alone = [effects.p_differs() for effects in family]
    near = [
        index
        for index, effects in enumerate(family)
        if not in_turn or abs(effects.mean) < 2 * margin
    ]
    differs = adjusted(alone)
    within = adjusted([family[index].p_within(margin) for index in near])
    equal = dict.fromkeys(range(len(family)), 1.0) | dict(zip(near, within, strict=True))
    tests = factor(differs), factor(within)
    decisions = []
    for index, (p, p_differs) in enumerate(zip(alone, differs, strict=True)):
        level = ALPHA * p / p_differs if 0 < p_differs <= ALPHA else ALPHA / tests[0]
        decisions.append(Decision(p_differs, equal[index], level, tests))
    return decisions
