"""How often the verdicts are right where the truth is known: simulations with the project's own code."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from judge_rows import MARGINS
from workspace import ROOT

from paragone.analysis import prediction, verdicts
from paragone.analysis.prediction import DIFFERS, NO_RUNS, Claim, adjusted, judge, judge_sample
from paragone.analysis.statistics import FEWEST_EFFECTS, Decision, Effects, decide

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
MOST_CONTESTS, ROUNDS = 8, 6
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


# What a process of each variant adds to its log speed in a contest, of draws x contests x variants. The first
# one is eager PyTorch where one differs; of the slow processes see docs/evidence.md#contests.
def normal(rng, shape, deviations=0.03):
    return rng.normal(0, deviations, shape)


def heavy_tailed(rng, shape, freedom, deviation=0.02):
    return deviation * rng.standard_t(freedom, shape)


def sometimes_slow(rng, shape, often, least, most, everybody=False):
    """Some processes are slower by `least` to `most`: of the first variant, or of each."""
    logs = normal(rng, shape, 0.028)
    slow = (rng.random(shape) < often) * np.log(rng.uniform(1 + least, 1 + most, shape))
    return logs - slow * (everybody | (np.arange(shape[-1]) == 0))


def drifting(rng, shape, correlation=0.6):
    """A variant is faster or slower for some contests, an autoregression of order one."""
    logs = normal(rng, shape)
    for at in range(1, shape[1]):
        new = math.sqrt(1 - correlation**2) * logs[:, at]
        logs[:, at] = correlation * logs[:, at - 1] + new
    return logs


PROCESSES = {
    "normal": normal,
    "t, 3 degrees": lambda rng, shape: heavy_tailed(rng, shape, 3),
    "t, 2 degrees": lambda rng, shape: heavy_tailed(rng, shape, 2),
    "eager": lambda rng, shape: normal(rng, shape, [0.1] + [0.028] * (shape[-1] - 1)),
    "unequal": lambda rng, shape: normal(rng, shape, np.linspace(0.01, 0.06, shape[-1])),
    "one in six slow": lambda rng, shape: sometimes_slow(rng, shape, 1 / 6, 0.15, 0.2),
    "one in seven slower": lambda rng, shape: sometimes_slow(rng, shape, 1 / 7, 0.12, 0.42),
    "of each one in seven": lambda rng, shape: sometimes_slow(rng, shape, 1 / 7, 0.15, 0.4, True),
    "drift": drifting,
    "quiet": lambda rng, shape: normal(rng, shape, 0.01),
}
INDEPENDENT = [name for name in PROCESSES if name != "drift"]
# Log speeds of the variants of a question.
QUESTIONS = {
    "two equal": [0.0, 0.0],
    "three equal": [0.0] * 3,
    "four equal": [0.0] * 4,
    "five equal": [0.0] * 5,
    "one of two apart": [SLOWDOWN, 0.0],
    "one of four apart": [SLOWDOWN, 0.0, 0.0, 0.0],
    "one of five apart": [SLOWDOWN, 0.0, 0.0, 0.0, 0.0],
    "the default": [0.0, 0.0, 0.4, -0.6],  # six pairs, one of equals
    "nine of ten clear": [0.0, 0.0, 0.4, -0.4, 0.8],
    "a third is far": [0.0, 0.0, 0.5],
    "two and two": [0.0, 0.0, 0.5, 0.5],
    "two and two at the margin": [0.0, 0.0, SLOWDOWN, SLOWDOWN],
    "a chain": [0.0, SLOWDOWN, 2 * SLOWDOWN, 3 * SLOWDOWN],
}


@dataclass
class Rates:
    """Shares of questions: with a wrong verdict, with intervals that all hold, decided by so many contests.

    `coverage` is of the pair whose intervals hold least often.
    """

    wrong: float
    coverage: float
    simultaneous: float
    decided: dict[int, float]

    def row(self, *labels: str) -> str:
        """The row of a table: per cent of questions, and of those decided by three contests to the most."""
        holds = f"{100 * self.coverage:.1f} / {100 * self.simultaneous:.1f}"
        decided = ", ".join(f"{100 * share:.0f}" for share in self.decided.values())
        return f"| {' | '.join([*labels, f'{100 * self.wrong:.1f}', holds, decided])} |"


def effects_of_contests(
    processes: str, logs: list[float], rng: np.random.Generator, draws: int
) -> np.ndarray:
    """Effects, of draws x contests x pairs, whose typical values are the differences of `logs`.

    They are medians over six rounds. In 15 % of these a state of the machine costs each variant a share.
    """
    first, second = np.triu_indices(len(logs), 1)
    make, shape = PROCESSES[processes], (draws, MOST_CONTESTS, len(logs))
    typical = make(rng, (100_000, 1, 2))[:, 0]
    lag = np.where(np.arange(len(logs)) == 0, np.median(typical[:, 0] - typical[:, 1]), 0)
    speeds = make(rng, shape) + logs - lag
    noise = rng.normal(0, 0.01 if processes == "quiet" else 0.03, (*shape[:2], ROUNDS, len(logs)))
    state = rng.random((*shape[:2], ROUNDS, 1)) < 0.15
    noise -= state * rng.uniform(0, 0.4, noise.shape)
    within = np.median(noise[..., first] - noise[..., second], axis=2)
    return speeds[..., first] - speeds[..., second] + within


def until_decided(contests: np.ndarray) -> tuple[float, list[Effects], list[Decision]]:
    """How many contests decide all pairs, infinite if not the most, and what the last look shows."""
    for number in range(FEWEST_EFFECTS, MOST_CONTESTS + 1):
        effects = [Effects(values) for values in contests[:number].T]
        decisions = decide(effects, SLOWDOWN, in_turn=True)
        if all(one.differs or one.is_equal for one in decisions):
            return number, effects, decisions
    return math.inf, effects, decisions


def rates(processes: str, question: str, draws: int) -> Rates:
    """How often the verdicts of a question are right, if contests end as soon as all pairs are decided."""
    logs = np.array(QUESTIONS[question])
    pairs = np.triu_indices(len(logs), 1)
    truth = logs[pairs[0]] - logs[pairs[1]]
    apart = np.abs(truth) > SLOWDOWN - 1e-9
    numbers, wrong, holding = [], [], []
    for contests in effects_of_contests(processes, logs, np.random.default_rng(4), draws):
        number, effects, decisions = until_decided(contests)
        equal = np.array([one.is_equal for one in decisions])
        differs = np.array([one.differs for one in decisions])
        ahead = np.sign([one.mean for one in effects])
        low, high = np.transpose(
            [one.interval(of.level) for one, of in zip(effects, decisions, strict=True)]
        )
        numbers.append(number)
        wrong.append((equal & apart | differs & ~equal & (ahead != np.sign(truth))).any())
        holding.append((low <= truth) & (truth <= high))
    return Rates(
        np.mean(wrong),
        np.mean(holding, axis=0).min(),
        np.mean(np.all(holding, axis=1)),
        {n: np.mean(np.array(numbers) <= n) for n in range(FEWEST_EFFECTS, MOST_CONTESTS + 1)},
    )


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


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("processes", INDEPENDENT)
def test_contests_that_end_when_all_is_decided_are_rarely_wrong(processes, question):
    found = rates(processes, question, DRAWS)
    print(found.row(processes, question))
    assert found.wrong <= 0.05
    assert found.coverage >= 0.94


@pytest.mark.parametrize(
    ("question", "least", "most"), [("two equal", 0.1, 0.2), ("four equal", 0.2, 0.4)]
)
def test_what_a_drift_does_is_what_the_method_says(question, least, most):
    """It is no secret that contests count as independent: docs/method.md has these numbers as a limit."""
    assert least <= rates("drift", question, DRAWS // 10).wrong <= most


def test_a_quiet_machine_decides_in_three_or_four_contests():
    decided = rates("quiet", "the default", DRAWS // 10).decided
    assert decided[3] >= 0.3
    assert decided[4] >= 0.75
