"""A published number against what one more run of its program would give.

    d = published - center        h = t s sqrt(1 + 1/n)

The center and the deviation s are those of all n runs that differ by seed alone: the committed ones and those
at hand, each seed once. Two statements follow. *Consistent with one more run of this program*: d is within h,
the half width of a prediction interval. Its level depends on how many numbers the published run has, and on
nothing else (Bonferroni): the same runs give one interval, whatever was published. *Equal within the margin
M*: |d| + e is within M, by two one-sided t tests at 5 %, as for pairs of variants. These need no adjustment,
since a run holds only if all its numbers do.

Where the published number is the mean of m runs, both have h = t s sqrt(1/m + 1/n): the prediction interval
of the mean of m further runs (Hahn and Meeker 1991, Statistical Intervals, chapter 4), of which one run is
the case m = 1.

A default can afford few runs; from these alone an interval would be useless. As MLPerf has reference
convergence points, spread.csv in the folder of a paper has the outcomes of 20 runs at published protocols.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from paragone.analysis.statistics import ALPHA, CONFIDENCE, MOST_EFFECTS, POWER
from paragone.base.errors import UserError
from paragone.config.datasets import MEASURED
from paragone.tasks import METRICS

# A kind of reason, and the values that words need: ("epochs", 3, 5). See reporting/sentences.py.
Reason = tuple[Any, ...]

HOLDS, CONSISTENT, DIFFERS = "holds", "consistent", "differs"
INCONCLUSIVE = "inconclusive"  # no published number could have held
AT_CHANCE, NOT_COMPARABLE = "at chance", "not comparable"
FEWEST_RUNS = 3  # for a standard deviation
# Runs at hand are rarely called another program than the committed one, as every number asks it.
OTHER_PROGRAM = 0.001
# Of many runs, those so many robust deviations from the median are outliers, if they are at most a tenth.
OUTLYING, MANY, MOST_OUTLIERS = 6.0, 10, 0.1
_NORMAL = 1.4826  # the deviation of a normal distribution over its median absolute deviation
NO_RUNS: pd.Series = pd.Series(dtype="float64")
OUTCOMES = [f"{split}_{name}" for split in MEASURED for name in METRICS]
_PROTOCOL = ["workload", "backend", "data_edition", "global_batch", "steps"]
_SPREAD = [*_PROTOCOL, "seed", "epoch", "final_weights"]


@dataclass(frozen=True)
class Claim:
    """One published number: what prints as `value` lies within `rounding` of it.

    `metric` after `epoch`, or the `best` until then; the mean of `runs`; `printed` by the source. It is a
    stated `bound` where that is "lower" or "upper". `margin`: the difference that does not matter, 0 where
    there is none. `at_chance`: it, or what is compared with it, learned nothing.
    """

    value: float
    margin: float = 0.0
    metric: str = ""
    epoch: int = 0
    rounding: float = 0.0
    bound: str = ""
    at_chance: bool = False
    best: bool = False
    runs: int = 1
    printed: str = ""

    @property
    def name(self) -> str:
        """The metric, as `best_test_accuracy` where it is the best of several epochs."""
        return f"best_{self.metric}" if self.best else self.metric


@dataclass(frozen=True)
class Judgement:
    """A published number against the runs of its program: a row of the forest plot.

    `outcomes`: those of all runs, committed or at hand. `center`: their mean without the seeds that are
    `outliers`. `scale`: the standard error of one more run, or of the mean of several published ones, with
    `freedom`. `alone`: p of "one more run of this program"; `alpha`: the level at which it is tested, 5 %
    over the count of numbers of the published run. `near`: outcomes of outliers within h of the number.
    `why`: what the runs lack, or in what they are odd.
    """

    claim: Claim
    outcomes: tuple[float, ...] = ()
    center: float = math.nan
    scale: float = math.inf
    freedom: int = 1
    alone: float = 1.0
    alpha: float = ALPHA
    outliers: tuple[int, ...] = ()
    near: tuple[float, ...] = ()
    why: Reason = ()

    @property
    def verdict(self) -> str:
        """One of `verdicts.VERDICTS`: `NOT_COMPARABLE` with too few runs."""
        if not math.isfinite(self.scale):
            return NOT_COMPARABLE
        if self.claim.at_chance:
            return AT_CHANCE
        if self.alone <= self.alpha:
            return DIFFERS
        if self.is_equal:
            return HOLDS
        can_hold = self.claim.bound or self.uncertainty <= self.claim.margin
        return CONSISTENT if can_hold else INCONCLUSIVE

    @property
    def is_equal(self) -> bool:
        """Return whether all numbers that print so are equal within the margin, or a stated bound is met."""
        if self.claim.bound:
            return self._beyond_bound <= -self.half_width
        return abs(self.difference) + self.uncertainty <= self.claim.margin

    @property
    def uncertainty(self) -> float:
        """The difference that runs and printed digits leave open: e of a one-sided test, and the rounding."""
        one_sided = self.scale * scipy.special.stdtrit(self.freedom, CONFIDENCE)
        return float(one_sided) + self.claim.rounding

    @property
    def lacking(self) -> float:
        """How many more runs that vary alike let a number hold; infinite if over `MOST_EFFECTS` in all."""
        of_claim, counts = 1 / self.claim.runs, np.arange(self.n, MOST_EFFECTS + 1)
        scales = self.scale * np.sqrt((of_claim + 1 / counts) / (of_claim + 1 / self.n))
        one_sided = scipy.special.stdtrit(self.freedom + counts - self.n, CONFIDENCE)
        enough = counts[scales * one_sided + self.claim.rounding <= self.claim.margin]
        return float(enough[0] - self.n) if len(enough) else math.inf

    @property
    def n(self) -> int:
        """The number of runs behind center and deviation."""
        return len(self.outcomes) - len(self.outliers)

    @property
    def difference(self) -> float:
        """d: published - center."""
        return self.claim.value - self.center

    @property
    def half_width(self) -> float:
        """h: half the width of the interval of one more run, at the level of the test."""
        return float(self.scale * scipy.special.stdtrit(self.freedom, 1 - self.alpha / 2))

    @property
    def low(self) -> float:
        """The lower end of the interval of one more run."""
        return self.center - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the interval of one more run."""
        return self.center + self.half_width

    @property
    def ranges(self) -> list[tuple[float, float]]:
        """The ranges of one more run: h around the center, and around each outcome that is `near`."""
        half = self.half_width
        return [(middle - half, middle + half) for middle in (self.center, *self.near)]

    @property
    def p(self) -> float:
        """The p value, adjusted for the other numbers of the published run."""
        return min(1.0, self.alone * ALPHA / self.alpha)

    @property
    def noticed(self) -> float:
        """The difference that the test finds in 80 % of cases, by the noncentral t distribution."""
        critical = scipy.special.stdtrit(self.freedom, 1 - self.alpha / 2)
        away = scipy.special.nctdtrinc(self.freedom, 1 - POWER, critical)
        return float(away * self.scale) + self.claim.rounding

    @property
    def _beyond_bound(self) -> float:
        """The distance of the center from a stated bound, on its wrong side."""
        return self.difference if self.claim.bound == "lower" else -self.difference

    @property
    def _apart(self) -> float:
        """The distance of the center from the nearest number that prints so, or that meets the bound."""
        if self.claim.bound:
            return max(0.0, self._beyond_bound)
        return max(0.0, abs(self.difference) - self.claim.rounding)

    def tested(self) -> "Judgement":
        """Return the judgement with its p value by the t test."""
        if self.scale == 0:
            return replace(self, alone=float(self._apart == 0))
        return replace(self, alone=float(_two_sided(self._apart / self.scale, self.freedom)))


def judge(claim: Claim, runs: pd.Series, committed: pd.Series = NO_RUNS) -> Judgement:
    """Judge a published number by the outcomes of the `runs` at hand and the `committed` ones, by seed.

    An outlier is left out of center and deviation; a number within h of it is no farther out than one of so
    many runs, which is then its p value. A published mean may have outliers in it, too, so that none is left
    out. Where the runs at hand are of another program than the committed ones, three or more are judged by
    themselves.
    """
    why: Reason = ()
    if len(committed) >= FEWEST_RUNS and _is_other(runs, committed):
        values, why = runs, ("other_program",)
    else:
        values = runs.combine_first(committed)
    outcomes = tuple(values)
    if len(values) < FEWEST_RUNS:
        return Judgement(claim, outcomes, why=why or ("few_runs", FEWEST_RUNS))
    kept = without_outliers(values) if claim.runs == 1 else values
    outliers = values.drop(kept.index)
    n = len(kept)
    judgement = Judgement(
        claim,
        outcomes,
        center=float(kept.mean()),
        scale=float(kept.std() * math.sqrt(1 / claim.runs + 1 / n)),
        freedom=n - 1,
        outliers=tuple(map(int, outliers.index)),
        why=why,
    ).tested()
    near = outliers[(outliers - claim.value).abs() <= judgement.half_width + claim.rounding]
    if len(near):
        share = (1 + len(near)) / (1 + len(values))
        return replace(judgement, alone=max(judgement.alone, share), near=tuple(near))
    return judgement


def judge_sample(claim: Claim, published: Sequence[float], first: Judgement) -> Judgement:
    """Judge several published runs of one program, as a sample whose mean is claimed, by Student's t test.

    `first`: the judgement of any of them. All its runs count, since theirs may be outliers, too. The variance
    is pooled from both samples, which have one if the program is one.
    """
    samples = (first.outcomes, published)
    counts = np.array([len(sample) for sample in samples])
    variances = np.array([np.var(sample, ddof=1) for sample in samples])
    freedom = int(counts.sum() - 2)
    variance = float(variances @ (counts - 1)) / freedom
    return replace(
        first,
        claim=claim,
        center=float(np.mean(first.outcomes)),
        scale=math.sqrt(variance * (1 / counts).sum()),
        freedom=freedom,
        alpha=ALPHA,
        outliers=(),
        near=(),
    ).tested()


def adjusted(numbers: Sequence[Judgement]) -> list[Judgement]:
    """Return the numbers of one published run, each at the level of 5 % over their count."""
    judged = [replace(number, alpha=ALPHA / len(numbers)) for number in numbers]
    return [replace(number, near=()) if number.verdict == DIFFERS else number for number in judged]


def without_outliers(values: pd.Series) -> pd.Series:
    """Return the values without outliers (Hampel 1974, J. Am. Stat. Assoc. 69:383).

    These are beyond `OUTLYING` robust deviations from the median, and at most a tenth of `MANY` runs or more.
    """
    apart = (values - values.median()).abs()
    is_outlier = apart > OUTLYING * _NORMAL * apart.median()
    if len(values) < MANY or is_outlier.mean() > MOST_OUTLIERS:
        return values
    return values[~is_outlier]


def times_as_varied(
    deviation: float, n: int, number: Judgement, rounding: float = 0.0, either: bool = False
) -> float | None:
    """Return how many times as much `n` runs vary as ours; None if not more at 5 %, by an F test.

    `either`: or less, by a two-sided test. The deviation may be one that is printed to `rounding`.
    """
    if n < FEWEST_RUNS or not (ours := float(np.std(number.outcomes, ddof=1))):
        return None
    times = float(np.clip(ours, deviation - rounding, deviation + rounding)) / ours
    p = scipy.special.fdtrc(n - 1, len(number.outcomes) - 1, times**2)
    return times if (2 * min(p, 1 - p) if either else p) <= ALPHA else None


def best_of(epochs: pd.DataFrame, metric: str) -> pd.Series:
    """Return the best of a metric on its split over epochs, by seed."""
    by_seed = epochs.groupby("seed")[metric]
    more_is_better = METRICS[metric.partition("_")[2]].more_is_better
    return by_seed.max() if more_is_better else by_seed.min()


def _is_other(runs: pd.Series, committed: pd.Series) -> bool:
    """Return whether the runs at hand differ from the committed ones in mean, or vary more: t and F test."""
    if (n := len(runs)) == 0:
        return False
    usual = without_outliers(committed)
    apart, deviation, freedom = abs(runs.mean() - usual.mean()), usual.std(), len(usual) - 1
    if deviation == 0:
        return bool(apart > 0 or runs.var() > 0)
    elsewhere = _two_sided(apart / (deviation * math.sqrt(1 / n + 1 / len(usual))), freedom)
    more = scipy.special.fdtrc(n - 1, freedom, (runs.std() / deviation) ** 2) if n > 1 else 1.0
    return bool(min(elsewhere, more) < OTHER_PROGRAM)


def _two_sided(t: float, freedom: int) -> float:
    return float(2 * scipy.special.stdtr(freedom, -t))


@dataclass(frozen=True)
class Spread:
    """The runs of one workload: rows as in spread.csv."""

    rows: pd.DataFrame

    @property
    def backend(self) -> str:
        """The backend that was run, and that judges published numbers."""
        return str(self.rows["backend"].iloc[0])

    def fits(self, epochs: pd.DataFrame) -> bool:
        """Return whether these epochs have the spread's protocol: its global batch and steps."""
        keys = "global_batch", "steps"
        return all({*epochs[key].astype(int)} == {*self.rows[key]} for key in keys)

    def values(self, metric: str, epoch: int, best: bool = False) -> pd.Series:
        """Return one outcome, by seed, or the `best` until then; empty where the runs ended before the epoch,
        or do not have it."""
        at = self.rows["epoch"] == epoch
        if metric not in self.rows or not at.any():
            return pd.Series(dtype="float64")
        if best:
            return best_of(self.rows[self.rows["epoch"] <= epoch], metric)
        return self.rows[at].set_index("seed")[metric]

    def inside(
        self, published: dict[tuple[str, int], float]
    ) -> tuple[list[tuple[str, int]], int, int]:
        """Return the published outcomes that lie where fewer than 5 % of runs would, and count the runs.

        published: values by metric and epoch. The second value counts the runs, the published one among
        them, that have as few inside or fewer, each held against all the others; the third, all runs.
        Their ratio is an exact p value, however the outcomes of a run are correlated.
        """
        runs = pd.DataFrame({key: self.values(*key) for key in published}).reset_index(drop=True)
        runs.loc[len(runs)] = pd.Series(published)
        counts, n = [], len(runs) - 1
        for row in runs.index:
            rest = runs.drop(row)
            half = scipy.special.stdtrit(n - 1, (1 + CONFIDENCE) / 2) * rest.std()
            apart = (runs.loc[row] - rest.mean()).abs()
            inside = apart <= half * math.sqrt(1 + 1 / n)
            counts.append(int(inside.sum()))
        outside = [*inside.index[~inside]]  # of the last row, the published run
        return outside, sum(count <= counts[-1] for count in counts), len(counts)


def read_spreads(path: Path) -> dict[str, Spread]:
    """Return the committed spreads by workload, if there is the file. Raise `UserError` if it is no table."""
    if not path.exists():
        return {}
    try:
        table = pd.read_csv(path)
        outcomes = [name for name in OUTCOMES if name in table]
        table = table[[*_SPREAD, *outcomes]].astype(dict.fromkeys(outcomes, "float64"))
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: not a table of spreads ({error})") from None
    return {str(name): Spread(rows) for name, rows in table.groupby("workload")}


def spread_of(runs: pd.DataFrame, epochs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of spread.csv for completed `runs` and their `epochs`."""
    completed = runs.loc[runs["status"] == "completed", ["run", "data_edition", "final_weights"]]
    rows = epochs.merge(completed, on="run").sort_values(["workload", "seed", "epoch"])
    rows["final_weights"] = rows["final_weights"].str[:16]  # enough to recognize a run
    outcomes = [name for name in OUTCOMES if name in rows and rows[name].notna().any()]
    return rows[[*_SPREAD[:-1], *outcomes, _SPREAD[-1]]].reset_index(drop=True)
