"""How often the verdicts are right where the truth is known: simulations with the project's own code."""

import math

import numpy as np
import pandas as pd
import pytest
from judge_rows import MARGINS
from workspace import ROOT

from paragone.analysis import prediction, verdicts
from paragone.analysis.prediction import DIFFERS, NO_RUNS, Claim, adjusted, judge, judge_sample
from paragone.analysis.statistics import ALPHA, FEWEST_EFFECTS, LEAST_FAMILY, Effects, holm

FILES = sorted(ROOT.glob("papers/*/spread.csv"))
SPREADS = {name: one for file in FILES for name, one in prediction.read_spreads(file).items()}
FINALS = {
    name: pd.DataFrame(
        {metric: one.values(metric, int(one.rows["epoch"].max())) for metric in verdicts.FINAL}
    )
    for name, one in SPREADS.items()
}
# Shares of the most frequent class, of Fashion-MNIST and of Reuters.
MAJORITY = {
    name: {"train": 0.352, "test": 0.362} if "reuters" in name else {"train": 0.1, "test": 0.1}
    for name in SPREADS
}
SLOWDOWN = math.log(1.05)
MOST_CONTESTS = 8
DRAWS = 10_000


# Final numbers of runs of a workload, (runs, numbers), as far apart as the committed ones, and as correlated.
def of_workload(workload: str, rng: np.random.Generator, runs: int) -> np.ndarray:
    known = FINALS[workload]
    return rng.multivariate_normal(known.mean(), known.cov(), runs)


def sometimes_stuck(workload: str, rng: np.random.Generator, runs: int) -> np.ndarray:
    """One run of twenty is stuck, ten deviations away in each number."""
    away = 10 * (rng.random((runs, 1)) < 0.05) * FINALS[workload].std().to_numpy()
    return of_workload(workload, rng, runs) + away


OUTCOMES = {"normal": of_workload, "sometimes stuck": sometimes_stuck}


def claims_of(numbers: np.ndarray, workload: str) -> list[Claim]:
    """What a source prints of such a run: four digits, and the margins of these numbers."""
    found = []
    for metric, value in zip(FINALS[workload], numbers, strict=True):
        guessed = MAJORITY[workload][metric.partition("_")[0]]
        is_loss = metric.endswith("loss")
        margin = MARGINS[metric].of(-math.log(guessed) - value if is_loss else 1 - guessed)
        found.append(Claim(round(float(value), 4), margin, metric, rounding=0.00005))
    return found


def verdict_on(claims: list[Claim], runs: np.ndarray) -> list[str]:
    """The verdicts on the numbers of a published run, by 20 committed runs and those at hand."""
    committed, here = (pd.DataFrame(runs[at]) for at in (slice(20), slice(20, None)))
    here.index += 20
    found = [judge(claim, here[at], committed[at]) for at, claim in enumerate(claims)]
    return [one.verdict for one in adjusted(found)]


def falsely_differing(workload: str, outcomes: str, draws: int) -> float:
    """Share of published runs, of the very program that ours are of, of which any number differs."""
    rng, count = np.random.default_rng(1), 0
    for _ in range(draws):
        runs = OUTCOMES[outcomes](workload, rng, 23)
        count += DIFFERS in verdict_on(claims_of(runs[0], workload), runs[1:])
    return count / draws


def found_shifted(workload: str, metric: str, draws: int) -> float:
    """Share of published runs that differ, if they are of a program two margins away in one number."""
    rng, count = np.random.default_rng(5), 0
    at = FINALS[workload].columns.get_loc(metric)
    for draw in range(draws):
        runs = of_workload(workload, rng, 23)
        margin = claims_of(runs[0], workload)[at].margin
        runs[0, at] += (2 if draw % 2 else -2) * margin
        count += DIFFERS in verdict_on(claims_of(runs[0], workload), runs[1:])
    return count / draws


def falsely_differing_samples(outcomes: str, published: int, draws: int) -> float:
    """Share of samples of published runs, of the very program that ours are of, whose mean differs."""
    rng, count, workload = np.random.default_rng(6), 0, "reuters-cnn"
    for _ in range(draws):
        values = OUTCOMES[outcomes](workload, rng, 20 + published)[:, 0]
        one = judge(Claim(0.0), NO_RUNS, pd.Series(values[:20]))
        mean = Claim(float(values[20:].mean()))
        count += judge_sample(mean, values[20:], one).verdict == DIFFERS
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


def wrong_after_contests(noise: str, variants: int, draws: int, apart: float = 0.0) -> float:
    """Share of questions in which a verdict is wrong, if contests end as soon as all pairs are decided.

    All variants are equal, so that "faster" is wrong; or the first is faster by `apart` in logs, the
    margin, so that "equal" is wrong of its pairs.
    """
    rng, count = np.random.default_rng(4), 0
    pairs = np.triu_indices(variants, 1)
    for _ in range(draws):
        logs = CONTESTS[noise](rng, (MOST_CONTESTS, variants))
        logs[:, 0] += apart
        effects = (logs[:, pairs[0]] - logs[:, pairs[1]]).T
        for held in range(FEWEST_EFFECTS, MOST_CONTESTS + 1):
            found = [Effects(effect[:held]) for effect in effects]
            p_values = [one.p_differs() for one in found], [one.p_within(SLOWDOWN) for one in found]
            differs, equal = (np.array(holm(each, LEAST_FAMILY)) <= ALPHA for each in p_values)
            if (differs | equal).all():
                break
        of_first = pairs[0] == 0
        wrong = equal & of_first if apart else differs & ~equal
        count += wrong.any()
    return count / draws


# Numbers in which the committed spread allows to notice two margins in 90 % of cases: where they are
# 4.04 deviations or more, by the noncentral t of 22 runs and one number of three.
ALLOWED = [
    (workload, claim.metric)
    for workload, known in FINALS.items()
    for claim in claims_of(known.mean().to_numpy(), workload)
    if 2 * claim.margin >= 4.04 * known[claim.metric].std()
]


def chance(draws: int) -> float:
    """Three standard deviations of a share of 5 %."""
    return 3 * (0.05 * 0.95 / draws) ** 0.5


@pytest.mark.parametrize("workload", SPREADS)
@pytest.mark.parametrize(("outcomes", "most"), [("normal", 0.05), ("sometimes stuck", 0.07)])
def test_exact_replicates_rarely_differ(workload, outcomes, most):
    """A published run may be stuck where none of ours was."""
    assert falsely_differing(workload, outcomes, DRAWS) <= most + chance(DRAWS)


@pytest.mark.parametrize(("workload", "metric"), ALLOWED)
def test_programs_two_margins_away_differ(workload, metric):
    assert found_shifted(workload, metric, DRAWS // 5) >= 0.9 - chance(DRAWS // 5)


@pytest.mark.parametrize(("outcomes", "most"), [("normal", 0.05), ("sometimes stuck", 0.07)])
def test_samples_of_the_same_program_rarely_differ(outcomes, most):
    assert falsely_differing_samples(outcomes, 8, DRAWS) <= most + chance(DRAWS)


@pytest.mark.parametrize("noise", CONTESTS)
@pytest.mark.parametrize("variants", [2, 4])
@pytest.mark.parametrize("apart", [0.0, SLOWDOWN])
def test_contests_that_end_when_all_is_decided_are_rarely_wrong(noise, variants, apart):
    share = wrong_after_contests(noise, variants, DRAWS // 3, apart=apart)
    assert share <= 0.05 + chance(DRAWS // 3)
