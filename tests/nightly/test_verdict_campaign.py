"""How often verdicts on speeds are right where the truth is known, by the function that decides."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from paragone.analysis.statistics import FEWEST_EFFECTS, Decision, Effects, decide

SLOWDOWN = math.log(1.05)
MOST_CONTESTS, ROUNDS = 8, 6
DRAWS = 10_000


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
    "all six clear": [0.0, 0.12, 0.25, -0.65],
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


def chance(draws: int) -> float:
    """Three standard deviations of a share of 5 %."""
    return 3 * (0.05 * 0.95 / draws) ** 0.5


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("processes", INDEPENDENT)
def test_contests_that_end_when_all_is_decided_are_rarely_wrong(processes, question):
    found = rates(processes, question, DRAWS)
    print(found.row(processes, question))
    assert found.wrong <= 0.05
    assert found.coverage >= 0.94


@pytest.mark.parametrize(("question", "wrong"), [("the default", 0.18), ("five equal", 0.39)])
def test_what_a_drift_does_is_what_the_method_says(question, wrong):
    """Contests count as independent: docs/method.md has these numbers as a limit."""
    found = rates("drift", question, DRAWS)
    print(found.row("drift", question))
    assert found.wrong == pytest.approx(wrong, abs=0.02)


def test_a_quiet_machine_decides_in_three_or_four_contests():
    decided = rates("quiet", "the default", DRAWS // 10).decided
    assert decided[3] >= 0.3
    assert decided[4] >= 0.75
