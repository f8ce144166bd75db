"""How often the verdicts are right where the truth is known: simulations with the project's own code.

Few draws, so up to chance; nightly/test_verdict_campaign.py has 10,000.
"""

import math

import numpy as np
import pandas as pd
import pytest
from workspace import ROOT

from paragone.analysis import published
from paragone.analysis.prediction import REPRODUCED, judge
from paragone.analysis.statistics import (
    ALPHA,
    FEWEST_CONTESTS,
    Effects,
    OverContests,
    holm,
    holm_of_contests,
    pairs_that_decide,
)

DRAWS = 500
SPREADS = published.read_spreads(ROOT / "published/spread.csv")
MARGINS = published.read_margins(ROOT / "published/margins.csv")
SLOWDOWN = math.log(1.05)


def drifting(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Each run is 1 % slower than the one before, and noisier; within a repeat the order is random."""
    times = np.arange(math.prod(shape[-2:])).reshape(shape[-2:])
    times = rng.permuted(np.broadcast_to(times, shape), axis=-1)
    return -0.01 * times + rng.normal(0, 0.02, shape) * (1 + times / 10)


NOISES = {
    "normal": lambda rng, shape: rng.normal(0, 0.03, shape),
    "heavy-tailed": lambda rng, shape: 0.02 * rng.pareto(1.5, shape),
    "drifting": drifting,
}


def runs_asked_for(values: pd.Series, margin: float) -> int | None:
    """The runs that the tool asks for, beginning with one; None where no number decides."""
    answer = judge(float(values.mean()), values.mean() + pd.Series([0.0]), margin, values)
    return 1 if answer.verdict == REPRODUCED else answer.needed


def decidable(workload: str) -> list[tuple[pd.Series, float, int]]:
    """The outcomes of a workload that a number of runs decides: their spread, margin, and that number."""
    spread, rows = SPREADS[workload], []
    for metric in published.OUTCOMES:
        for epoch in sorted(set(spread.rows["epoch"])):
            values = spread.values(metric, epoch)
            margin = MARGINS[metric].of(float(values.mean()))
            if runs := runs_asked_for(values, margin):
                rows.append((values, margin, runs))
    return rows


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
        count += min(holm([Effects(effect).p_differs() for effect in effects])) <= ALPHA
    return count / draws


# Log speeds of variants in contests, (contests, variants), which vary between contests as was measured: by
# 0.03 to 0.05 of a ratio. A contest may fall into a state of the machine, which costs each variant a share.
CONTESTS = {
    "normal": lambda rng, shape: rng.normal(0, 0.03, shape),
    "heavy-tailed": lambda rng, shape: 0.02 * rng.standard_t(3, shape),
    "unequal": lambda rng, shape: rng.normal(0, np.linspace(0.01, 0.06, shape[-1]), shape),
    "with states": lambda rng, shape: (
        rng.normal(0, 0.03, shape)
        - (rng.random((shape[0], 1)) < 0.2) * rng.normal(0.1, 0.05, shape)  # equal on average
    ),
}


def wrong_after_contests(
    noise: str, variants: int, draws: int, most: int = 8, apart: float = 0.0
) -> float:
    """Share of questions in which a verdict is wrong, if contests end as soon as all pairs are decided.

    All variants are equal, so that "faster" is wrong; or the first is faster by `apart` in logs, the
    margin, so that "equal" is wrong of its pairs.
    """
    rng, count = np.random.default_rng(4), 0
    pairs = np.triu_indices(variants, 1)
    for _ in range(draws):
        logs = CONTESTS[noise](rng, (most, variants))
        logs[:, 0] += apart
        effects = (logs[:, pairs[0]] - logs[:, pairs[1]]).T
        for held in range(FEWEST_CONTESTS, most + 1):
            found = [OverContests(effect[:held]) for effect in effects]
            p_values = [one.p_differs() for one in found], [one.p_within(SLOWDOWN) for one in found]
            differs, equal = (np.array(holm_of_contests(each)) <= ALPHA for each in p_values)
            if (differs | equal).all():
                break
        of_first = pairs[0] == 0
        wrong = equal & of_first if apart else differs & ~equal
        count += wrong.any()
    return count / draws


def found_of(deviation: float, pilot: int, comparisons: int, draws: int) -> float:
    """Share of slowdowns of 5 % that are found with the pairs that the tool asks for after a pilot.

    Of those that are not called hopeless. The other comparisons of the family show nothing.
    """
    rng, hopeful, count = np.random.default_rng(3), 0, 0
    for _ in range(draws):
        first = rng.normal(SLOWDOWN, deviation, pilot)
        needed = pairs_that_decide(first, SLOWDOWN, comparisons)
        if needed is None:
            continue
        hopeful += 1
        more = rng.normal(SLOWDOWN, deviation, max(needed, pilot) - pilot)
        p_values = [Effects(np.concatenate([first, more])).p_differs(), *[1.0] * (comparisons - 1)]
        count += holm(p_values)[0] <= ALPHA
    return count / max(hopeful, 1)


@pytest.mark.parametrize("workload", SPREADS)
def test_exact_reproductions_are_called_reproduced_and_shifted_ones_are_not(workload):
    assert reproduced(workload, 0, DRAWS) >= 0.90 - 0.04
    assert reproduced(workload, 2, DRAWS) <= 0.05 + 0.03


@pytest.mark.parametrize("noise", NOISES)
def test_equal_backends_are_rarely_called_faster(noise):
    assert falsely_faster(noise, 3, 8, DRAWS) <= 0.05 + 0.03


@pytest.mark.parametrize("variants", [2, 4])
@pytest.mark.parametrize("noise", CONTESTS)
def test_contests_that_end_when_all_is_decided_are_rarely_wrong(noise, variants):
    assert wrong_after_contests(noise, variants, 150) <= 0.05 + 0.04


def test_a_family_of_few_pairs_counts_as_a_larger_one():
    """Without that, looking after each contest is wrong in 12 % of questions of two variants."""
    assert holm_of_contests([0.01]) == [0.04]
    assert holm_of_contests([0.01, 0.5, 0.5]) == pytest.approx([0.04, 1, 1])
    assert holm_of_contests([0.01] * 6) == holm([0.01] * 6)
