"""Criteria by which backends are compared: columns of runs, what better means, and margins that matter."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from paragone import tasks


@dataclass(frozen=True)
class Criterion:
    """A column of the runs by which backends are compared.

    `comparative`: what the better one is, in words; `saves`: what it needs less of, where a share says more
    than a multiple. `margin`: smaller effects do not matter to a user: a ratio above 1 where `by_ratio`, else
    a difference. `speed`: values of runs without proven parity are missing. `by_all`: a series is compared
    only if each of its runs has a value, since a run that missed the target or ended before is no fast one.
    `quality`: a metric of `tasks.METRICS`, compared in runs whose task has it as its quality.
    """

    name: str
    column: str
    comparative: str
    margin: float
    more_is_better: bool = False
    by_ratio: bool = True
    speed: bool = True
    by_all: bool = False
    saves: str = ""
    quality: str = ""

    @property
    def limit(self) -> float:
        """Return the margin on the scale of the effects."""
        return math.log(self.margin) if self.by_ratio else self.margin

    def effects(self, first: pd.Series, second: pd.Series) -> pd.Series:
        """Return by how much the first is better: the log of a ratio, or a difference, by seeds of both."""
        first, second = (values.astype("float64") for values in (first, second))
        gains = np.log(first / second) if self.by_ratio else first - second
        return (gains if self.more_is_better else -gains).dropna()

    def shown(self, effect: float) -> float:
        """Return an effect as a ratio, or a difference."""
        return math.exp(effect) if self.by_ratio else effect


def _of_quality(name: str, comparative: str, margin: float) -> Criterion:
    """Return the criterion of a metric on the test split: differences of what is at most 1, else ratios."""
    kind = tasks.METRICS[name]
    return Criterion(
        f"test {kind.label}",
        f"final_test_{name}",
        comparative,
        margin,
        more_is_better=kind.more_is_better,
        by_ratio=not kind.more_is_better,
        speed=False,
        quality=name,
    )


CRITERIA = (
    Criterion("speed", "steady_examples_per_second", "faster", 1.05, more_is_better=True),
    Criterion("end to end", "end_to_end_seconds", "quicker from start to end", 1.05),
    Criterion(
        "time to target", "target_first_hit_seconds", "quicker to the target", 1.1, by_all=True
    ),
    _of_quality("accuracy", "more accurate", 0.01),
    _of_quality("f1", "higher in micro F1", 0.01),
    _of_quality("r2", "higher in R²", 0.01),
    _of_quality("mae", "lower in mean absolute error", 1.02),
    _of_quality("perplexity", "lower in perplexity", 1.02),
    _of_quality("loss", "lower in loss", 1.02),
    Criterion(
        "peak memory", "peak_host_bytes", "smaller in memory", 1.1, speed=False, saves="memory"
    ),
    Criterion("energy", "joules_per_example", "lower in energy", 1.05, saves="energy"),
)
# Left out where no run has them: no target was asked for, or nothing counts energy.
OPTIONAL = {"time to target", "energy"}


def criterion(name: str) -> Criterion:
    """Return the criterion of that name."""
    return next(metric for metric in CRITERIA if metric.name == name)


def margin_words(metric: Criterion) -> str:
    """Return the margin as text."""
    return f"{100 * (metric.margin - 1):.0f} %" if metric.by_ratio else f"{metric.margin:g}"
