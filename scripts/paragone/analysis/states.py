"""States of the machine: rounds of contests in which several variants are slower together.

A neighbour on the memory bus slows some variants more than others for a while, and the counters of a guest do
not show it. That variants which are alive at the same time slow down together does.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import scipy

from paragone.analysis.grouping import by_machine, series_of
from paragone.analysis.statistics import ALPHA
from paragone.config.questions import WORK

SLOWER = 0.05  # share of its speed that a variant loses in a state, in at least half of its rounds
VARIANTS = 2  # that lose so much, at least
ROUNDS = 2  # of a state, at least
FEWEST = 8  # rounds of a question, from which states are looked for
# Distance of two states, in standard deviations within them. A normal distribution that is cut in two has
# 2.6, a uniform one 3.5.
APART = 5.0
CALM = 0.8  # quantile of a variant's speeds in a contest that is its speed in calm rounds
PERMUTATIONS = 199


@dataclass(frozen=True)
class States:
    """The states of one machine in the contests of one question.

    `work`: workload and global batch. `rounds`: how many there are in which two variants or more have a
    speed. `disturbed`: contest and round of those in which the machine was slower; empty if it had one state.
    `losses`: by variant, the share of its speed in calm rounds that it lost in disturbed ones, by medians.
    """

    question: str
    work: tuple[str, int]
    machine: str
    rounds: int
    disturbed: tuple[tuple[int, int], ...] = ()
    losses: dict[str, float] = field(default_factory=dict)


def states(rounds: pd.DataFrame, labels: dict[str, str]) -> list[States]:
    """The states of each machine in each question of a table of rounds.

    A speed counts relative to that of its variant in the calm rounds of the same contest (quantile `CALM`),
    as each contest has fresh processes and its own hour: a state that lasts for whole contests is not seen.
    The slowdown of a round is the second largest of its variants, so that one variant alone makes no state.
    A machine has two states where all of this holds, else one:

    - slowdowns fall into two groups (k-means) whose means are `APART`;
    - the slower group has `ROUNDS` rounds or more, and `VARIANTS` or more lose `SLOWER` or more in it;
    - if each variant's rounds were in another order, groups would be so far apart in at most 5 % of cases.
    """
    found = []
    for machine, same in by_machine(rounds):
        for question, own in same.groupby("run", sort=False):
            logs = _relative(own, labels)
            slow = _slower(logs)
            losses = 1 - np.exp(logs[slow].median() - logs[~slow].median())
            found.append(
                States(
                    question=str(question),
                    work=tuple(own[WORK].iloc[0]),
                    machine=machine,
                    rounds=len(logs),
                    disturbed=tuple(logs.index[slow]),
                    losses=losses.dropna().to_dict(),
                )
            )
    return found


def disturbed(rounds: pd.DataFrame) -> pd.Series:
    """Return a mask of the rows of a table of rounds: those of rounds in which the machine was disturbed."""
    marks = pd.Series(data=False, index=rounds.index)
    for _, same in by_machine(rounds):
        for state in states(same, {}):
            places = pd.MultiIndex.from_frame(same[["contest", "round"]])
            marks[same.index[(same["run"] == state.question) & places.isin(state.disturbed)]] = True
    return marks


def calm(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return a table of rounds without those in which the machine was disturbed."""
    return rounds[~disturbed(rounds)]


def _relative(own: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """Log of each variant's speed over that in calm rounds of the same contest: one row per round.

    Rounds in which fewer than `VARIANTS` have a speed are left out.
    """
    # Variants that were not alive at the same time share no round.
    own = own[own["together"].fillna(value=True)]
    speeds = {
        series.label: series.runs.set_index(["contest", "round"])["examples_per_second"]
        for series in series_of(own, labels)
    }
    if len(speeds) < VARIANTS:
        return pd.DataFrame()
    logs = np.log(pd.DataFrame(speeds)).sort_index()
    return logs.sub(logs.groupby("contest").quantile(CALM), level="contest").dropna(thresh=VARIANTS)


def _slower(logs: pd.DataFrame) -> pd.Series:
    """Return a mask of the rounds: those of the slower of two states; none if there is one state."""
    one = pd.Series(data=False, index=logs.index)
    columns = tuple(logs.to_numpy().T)
    if len(logs) < FEWEST or np.ptp(slowdowns := _slowdowns(*columns)) == 0:
        return one
    slow = one | _in_slower_group(slowdowns)
    if slow.sum() < ROUNDS or _apart(slowdowns, slow.to_numpy()) < APART:
        return one
    drops = logs[slow].quantile(0.5, interpolation="higher") - logs[~slow].median()
    if (1 - np.exp(drops) >= SLOWER).sum() < VARIANTS:
        return one
    by_chance = scipy.stats.permutation_test(
        columns,
        lambda *shuffled: _explained(_slowdowns(*shuffled)),
        permutation_type="pairings",
        vectorized=False,
        n_resamples=PERMUTATIONS,
        alternative="greater",
        rng=np.random.default_rng(0),
    )
    return slow if by_chance.pvalue <= ALPHA else one


def _slowdowns(*columns: np.ndarray) -> np.ndarray:
    """Return the second least relative speed of each round, in logs; 0 where fewer than two are known.

    `columns`: an array per variant with a relative speed per round.
    """
    return np.nan_to_num(np.sort(np.column_stack(columns), axis=1)[:, VARIANTS - 1])


def _in_slower_group(slowdowns: np.ndarray) -> np.ndarray:
    """Return a mask of the rounds in the slower of two groups, by k-means that starts from the extremes."""
    ends = np.array([[slowdowns.max()], [slowdowns.min()]])
    return scipy.cluster.vq.kmeans2(slowdowns[:, None], ends, minit="matrix")[1] == 1


def _apart(slowdowns: np.ndarray, slow: np.ndarray) -> float:
    """Distance of the means of two groups, in standard deviations within them (pooled)."""
    groups = slowdowns[~slow], slowdowns[slow]
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    within = math.sqrt(squares / (len(slowdowns) - 2))
    return float(groups[0].mean() - groups[1].mean()) / max(within, 1e-9)


def _explained(slowdowns: np.ndarray) -> float:
    """The variance of slowdowns that is between their two groups."""
    slow = _in_slower_group(slowdowns)
    share = slow.mean()
    return float(share * (1 - share) * (slowdowns[~slow].mean() - slowdowns[slow].mean()) ** 2)
