"""A published number against what one more run would give: a prediction interval and a margin.

    d = published - mean of the n runs;  h = t(df) s sqrt(1 + 1/n)

s is the committed spread (df = its runs - 1), or the standard deviation of three runs or more at hand.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import scipy

from paragone.analysis.statistics import CONFIDENCE, deviation_bound

# A kind of reason, and the values that words need: ("global_batch", 64, 128). See reporting/words.py.
Reason = tuple[Any, ...]

REPRODUCED, DIFFERS, AT_CHANCE, UNDECIDED = "reproduced", "differs", "at chance", "undecided"
# The F test only guards against a spread of something else: rarely wrong, as every row asks it.
WRONG_SPREAD = 0.001
MOST = 100  # runs that are ever proposed


@dataclass(frozen=True)
class Judgement:
    """`difference` d, `half_width` h, `p` of "the published number is one more such run".

    `margin`: the absolute difference that does not matter, not a number where a bound is judged. `why`: what
    decided, or is lacking. `needed`: the runs that would decide, None if no number would. `mean`: of the `n`
    measured runs.
    """

    verdict: str
    difference: float
    half_width: float
    p: float
    why: Reason = ()
    needed: int | None = None
    margin: float = math.nan
    mean: float = math.nan
    n: int = 0


def judge(
    published: float, runs: pd.Series, margin: float, spread: pd.Series, chance: float | None = None
) -> Judgement:
    """Judge one number by the outcomes of the `runs` at hand and of the committed `spread` (may be empty).

    `margin`: an absolute difference that does not matter. `chance`: for accuracies, that of a model which
    learned nothing. Reproduced: h and |d| within the margin. Differs: |d| beyond both.
    """
    found = replace(predict(published, runs, spread), margin=margin)
    distance, half, mean = abs(found.difference), found.half_width, float(runs.mean())
    if found.why:
        return found
    # Beyond the margin nothing can be reproduced, so h may not make chance of what is clearly better.
    if chance is not None and mean <= chance + min(half, margin):
        return replace(found, verdict=AT_CHANCE, why=("chance", chance, min(half, margin)))
    if distance > max(half, margin):
        return replace(found, verdict=DIFFERS)
    if half <= margin:
        return replace(found, verdict=REPRODUCED)
    needed = _needed(runs, spread, margin)
    return replace(found, why=("wide", half, margin, needed), needed=needed)


def judge_bound(bound: float, runs: pd.Series, spread: pd.Series) -> Judgement:
    """Judge a stated lower bound: one more run is above it, below it, or may be either."""
    found = predict(bound, runs, spread)
    if found.why:
        return found
    if abs(found.difference) <= found.half_width:
        return replace(found, why=("bound",))
    return replace(found, verdict=REPRODUCED if found.difference < 0 else DIFFERS)


def predict(published: float, runs: pd.Series, spread: pd.Series) -> Judgement:
    """The numbers of a judgement, undecided; `why` is set where no verdict can follow from them."""
    n, known = len(runs), len(spread)
    mean = float(runs.mean())
    difference = published - mean
    if max(n, known) < 3:
        why: Reason = ("no_spread",)
        return Judgement(UNDECIDED, difference, math.inf, 1.0, why, needed=3, mean=mean, n=n)
    why = ("other_spread",) if known >= 3 and n >= 2 and _exceeds(runs, spread) else ()
    reference = spread if known >= 3 else runs
    deviation, freedom = float(reference.std()), len(reference) - 1
    half = half_width(deviation, freedom, n)
    p = _p(difference, deviation, freedom, n)
    return Judgement(UNDECIDED, difference, half, p, why, mean=mean, n=n)


def half_width(deviation: float, freedom: int, n: int) -> float:
    """h: half the width of the 95 % prediction interval for one more run beside `n`."""
    return float(
        scipy.stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * deviation * math.sqrt(1 + 1 / n)
    )


def _needed(runs: pd.Series, spread: pd.Series, margin: float) -> int | None:
    """The runs with which h, which shrinks with their number, is within the margin; without a spread, of a
    variance that is only estimated."""
    known = len(spread) >= 3
    deviation = float(spread.std()) if known else deviation_bound(runs.to_numpy())

    def enough(n: int) -> bool:
        return half_width(deviation, len(spread) - 1 if known else n - 1, n) <= margin

    counts = range(len(runs) + 1, MOST + 1)
    at = bisect_left(counts, True, key=enough)
    return counts[at] if at < len(counts) else None


def _p(difference: float, deviation: float, freedom: int, n: int) -> float:
    if deviation == 0:
        return float(difference == 0)
    return float(
        2 * scipy.stats.t.sf(abs(difference) / (deviation * math.sqrt(1 + 1 / n)), freedom)
    )


def _exceeds(runs: pd.Series, spread: pd.Series) -> bool:
    if spread.var() == 0:
        return bool(runs.var() > 0)
    ratio = runs.var() / spread.var()
    return bool(scipy.stats.f.sf(ratio, len(runs) - 1, len(spread) - 1) < WRONG_SPREAD)
