"""How often the verdicts are right where the truth is known: simulations with the project's own code."""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from paragone.analysis import published
from paragone.analysis.prediction import REPRODUCED, judge
from paragone.analysis.statistics import ALPHA, Effects, holm, pairs_that_decide

PUBLISHED = Path(__file__).parents[1] / "published"
SPREADS = published.read_spreads(PUBLISHED / "spread.csv")
MARGINS = published.read_margins(PUBLISHED / "margins.csv")
SLOWDOWN = math.log(1.05)


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(0, 0.03, shape)


def _heavy_tailed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return 0.02 * rng.pareto(1.5, shape)


def _drifting(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Each run is 1 % slower than the one before, and noisier; within a repeat the order is random."""
    times = np.arange(math.prod(shape[-2:])).reshape(shape[-2:])
    times = rng.permuted(np.broadcast_to(times, shape), axis=-1)
    return -0.01 * times + rng.normal(0, 0.02, shape) * (1 + times / 10)


NOISES = {"normal": _normal, "heavy-tailed": _heavy_tailed, "drifting": _drifting}


def asked(values: pd.Series, margin: float) -> int | None:
    """The runs that the tool asks for, beginning with one; None where no number decides."""
    found = judge(float(values.mean()), values.mean() + pd.Series([0.0]), margin, values)
    return 1 if found.verdict == REPRODUCED else found.needed


def decidable(workload: str) -> list[tuple[pd.Series, float, int]]:
    """The outcomes of a workload that a number of runs decides: their spread, margin, and that number."""
    one, found = SPREADS[workload], []
    for metric in published.OUTCOMES:
        for epoch in sorted(set(one.rows["epoch"])):
            values = one.values(metric, epoch)
            margin = MARGINS[metric].of(float(values.mean()))
            if runs := asked(values, margin):
                found.append((values, margin, runs))
    return found


def reproduced(workload: str, shift: float, draws: int) -> float:
    """Share of published runs that are called reproduced: equal to ours but for `shift` margins.

    The runs are normal with the deviation of the committed spread, by which they are judged.
    """
    rng, rows, count = np.random.default_rng(1), decidable(workload), 0
    for draw in range(draws):
        values, margin, runs = rows[draw % len(rows)]
        made = pd.Series(rng.normal(values.mean(), values.std(), runs))
        number = rng.normal(values.mean() + shift * margin, values.std())
        count += judge(number, made, margin, values).verdict == REPRODUCED
    return count / draws


def falsely_faster(noise: str, backends: int, repeats: int, draws: int) -> float:
    """Share of families, of all pairs of equal backends, in which any is declared faster."""
    rng, count = np.random.default_rng(2), 0
    pairs = np.triu_indices(backends, 1)
    for _ in range(draws):
        logs = NOISES[noise](rng, (repeats, backends))
        effects = (logs[:, pairs[0]] - logs[:, pairs[1]]).T
        count += min(holm([Effects(one).p_differs() for one in effects])) <= ALPHA
    return count / draws


def found(deviation: float, pilot: int, comparisons: int, draws: int) -> tuple[float, float, float]:
    """A slowdown of 5 %, with the pairs that the tool asks for after a pilot.

    Returned are the share in which it is found, of those that are not called hopeless; the share of these;
    and the median number of pairs. The other comparisons of the family show nothing.
    """
    rng, numbers, count = np.random.default_rng(3), [], 0
    for _ in range(draws):
        first = rng.normal(SLOWDOWN, deviation, pilot)
        needed = pairs_that_decide(first, SLOWDOWN, comparisons)
        if needed is None:
            continue
        numbers.append(max(needed, pilot))
        more = rng.normal(SLOWDOWN, deviation, numbers[-1] - pilot)
        p_values = [Effects(np.concatenate([first, more])).p_differs(), *[1.0] * (comparisons - 1)]
        count += holm(p_values)[0] <= ALPHA
    return count / max(len(numbers), 1), 1 - len(numbers) / draws, float(np.median(numbers))
