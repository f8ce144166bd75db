"""How often verdicts on published numbers are right where the truth is known, and what they decide.

Outcomes are drawn as far apart as those of the committed runs, and as correlated; the project's own code
judges them by as many runs as are committed. With `-s` the tables of docs/evidence.md are printed.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
from judge_rows import MARGINS
from scipy.special import fdtrc, stdtr, stdtrit
from workspace import PAPERS, ROOT

from paragone.analysis import prediction, verdicts
from paragone.analysis.prediction import (
    CONSISTENT,
    DIFFERS,
    HOLDS,
    INCONCLUSIVE,
    NO_RUNS,
    Claim,
    Judgement,
    adjusted,
    judge,
    judge_sample,
)
from paragone.analysis.verdicts import PublishedRun, with_margin

FILES = sorted(ROOT.glob("papers/*/spread.csv"))
SPREADS = {name: one for file in FILES for name, one in prediction.read_spreads(file).items()}
# By split: the share of the most frequent class, and the entropy of the classes.
FASHION = {"train": (0.1, math.log(10)), "test": (0.1, math.log(10))}
GUESSED = {
    "reuters": {"train": (0.3517, 2.4016), "test": (0.3620, 2.4062)},
    "nanogpt": {"train": (0.1527, 3.3091), "test": (0.1490, 3.3373)},
}
DRAWS = 10_000


def guessed(workload: str, metric: str) -> float:
    """What the best constant answer gives."""
    split, _, name = metric.partition("_")
    levels = GUESSED.get(workload.partition("-")[0], FASHION)
    split = "train" if split == "validation" else split  # of which it is a part
    return levels[split][name == "loss"]


def judged(workload: str, claims: list[Claim], runs: pd.DataFrame) -> tuple[Judgement, ...]:
    """The numbers of a published run by committed runs, columns by metric."""
    found = [judge(claim, NO_RUNS, runs[claim.metric]) for claim in claims]
    found = [
        with_margin(one, guessed(workload, one.claim.metric), MARGINS[one.claim.metric])
        for one in found
    ]
    return tuple(adjusted(found))


def published() -> dict[tuple[str, str], tuple[str, list[Claim]]]:
    """The final losses and accuracies of all papers: by experiment and system the workload, and the numbers.

    A second time by the second workload that explains them.
    """
    every = {}
    for experiment, paper in PAPERS.items():
        numbers = paper.published[experiment]
        for system, places in verdicts.finals(numbers.rows).items():
            rows = [numbers.rows[place] for place in places]
            claims = [
                Claim(row.number, 0.0, row.metric, row.epoch, row.rounding, row.limit)
                for row in rows
            ]
            protocol = numbers.protocols[system]
            every[experiment, system] = (protocol.workload, claims)
            if second := protocol.second_workload:
                every[experiment, f"{system}, as {second}"] = (second, claims)
    return every


PUBLISHED = published()
# What a source prints of each workload, and how; the published runs of a report on all papers.
# Numbers, not bounds: nothing would have been noticed beside "over 0.89".
PRINTED = {
    workload: claims
    for workload, claims in PUBLISHED.values()
    if workload in SPREADS and not any(claim.bound for claim in claims)
}
REPORT = [
    workload
    for (_, system), (workload, _) in PUBLISHED.items()
    if workload in PRINTED and ", as " not in system
]


@cache
def known(workload: str) -> pd.DataFrame:
    """The committed final numbers of a workload that its source prints."""
    spread = SPREADS[workload]
    return pd.DataFrame(
        {claim.metric: spread.values(claim.metric, claim.epoch) for claim in PRINTED[workload]}
    )


def normal(workload: str, rng: np.random.Generator, runs: int) -> np.ndarray:
    return rng.multivariate_normal(known(workload).mean(), known(workload).cov(), runs)


def with_outliers(workload: str, rng: np.random.Generator, runs: int) -> np.ndarray:
    """One run of twenty is ten deviations away in each number."""
    away = 10 * (rng.random((runs, 1)) < 0.05) * known(workload).std().to_numpy()
    return normal(workload, rng, runs) + away


def skewed(workload: str, rng: np.random.Generator, runs: int) -> np.ndarray:
    """A log-normal tail, such as that of LeNet's losses: a skewness of 2."""
    wide = np.exp(0.55 * rng.standard_normal((runs, 1))) - math.exp(0.55**2 / 2)
    tail = wide / math.sqrt(math.exp(0.55**2) * (math.exp(0.55**2) - 1))
    return (
        normal(workload, rng, runs) / 2
        + known(workload).mean().to_numpy() / 2
        + (math.sqrt(0.75) * tail * known(workload).std().to_numpy())
    )


OUTCOMES = {"normal": normal, "with outliers": with_outliers, "skewed": skewed}


def margins_at(workload: str, values: np.ndarray) -> np.ndarray:
    """The margins of final numbers, (..., numbers)."""
    found = []
    for at, metric in enumerate(known(workload)):
        value, guess, margin = values[..., at], guessed(workload, metric), MARGINS[metric]
        is_loss = metric.endswith("loss")
        reach, error = (guess - value, value) if is_loss else (1 - guess + 0 * value, 1 - value)
        found.append(np.maximum(np.minimum(margin.share * reach, margin.error * error), 0))
    return np.stack(found, -1)


@dataclass
class Verdicts:
    """Return what `judged` says of each of many published runs, (draws, numbers), by arrays."""

    workload: str
    committed: np.ndarray  # (draws, runs, numbers)
    values: np.ndarray

    def __post_init__(self) -> None:
        rounding = np.array([claim.rounding for claim in PRINTED[self.workload]])
        self.values = 2 * rounding * np.round(self.values / (2 * rounding))
        runs, values, count = self.committed, self.values, self.values.shape[-1]
        apart = abs(runs - np.median(runs, 1, keepdims=True))
        outlying = apart > prediction.OUTLYING * 1.4826 * np.median(apart, 1, keepdims=True)
        outlying &= outlying.mean(1, keepdims=True) <= prediction.MOST_OUTLIERS
        kept = np.where(outlying, np.nan, runs)
        n, center = (~outlying).sum(1), np.nanmean(kept, 1)
        scale = np.nanstd(kept, 1, ddof=1) * np.sqrt(1 + 1 / n)
        alone = 2 * stdtr(n - 1, -np.maximum(abs(values - center) - rounding, 0) / scale)
        half = stdtrit(n - 1, 0.975) * scale
        near = (outlying & (abs(runs - values[:, None]) <= half[:, None] + rounding)).sum(1)
        share = (1 + near) / (1 + runs.shape[1])
        alone = np.where(near > 0, np.maximum(alone, share), alone)
        margin = np.minimum(margins_at(self.workload, values), margins_at(self.workload, center))
        left = stdtrit(n - 1, 0.95) * scale + rounding
        self.differs = alone <= 0.05 / count
        self.holds = ~self.differs & (abs(values - center) + left <= margin)
        self.inconclusive = ~self.differs & ~self.holds & (left > margin)
        self.p = np.minimum(1, count * alone.min(1))

    def of_runs(self) -> list[str]:
        """The verdicts on whole runs."""
        worst = np.select(
            [self.differs.any(1), self.inconclusive.any(1), self.holds.all(1)],
            [DIFFERS, INCONCLUSIVE, HOLDS],
            CONSISTENT,
        )
        return worst.tolist()

    def share(self, verdict: str) -> float:
        return self.of_runs().count(verdict) / len(self.values)


def replicates(
    workload: str, draws: int = DRAWS, outcomes: str = "normal", shift: np.ndarray | float = 0.0
) -> Verdicts:
    """On runs of the program that ours are of, or of one that is elsewhere."""
    rng, count = np.random.default_rng(1), len(known(workload)) + 1
    runs = OUTCOMES[outcomes](workload, rng, draws * count).reshape(draws, count, -1)
    return Verdicts(workload, runs[:, :-1], runs[:, -1] + shift)


def holds_a_margin_away(workload: str) -> float:
    """The greatest share, over numbers and directions, of those that hold one margin from the center."""
    center, most = known(workload).mean().to_numpy(), 0.0
    for at, margin in enumerate(margins_at(workload, center)):
        for sign in (1, -1):
            shift = np.zeros(len(center))
            shift[at] = sign * margin
            most = max(most, replicates(workload, shift=shift).holds[:, at].mean())
    return most


def noticed(workload: str, at: int) -> float:
    """The share that differs of numbers as far from the center as is said to be noticed in 80 % of cases."""
    center = known(workload).mean().to_numpy()
    shift = np.zeros(len(center))
    shift[at] = judged(workload, PRINTED[workload], known(workload))[at].noticed
    return float(replicates(workload, shift=shift).differs[:, at].mean())


def reports() -> tuple[float, float]:
    """Shares of reports on replicates in which a run differs: each at 5 %, and adjusted for each other.

    Published runs of one workload are judged by the same runs.
    """
    rng, found = np.random.default_rng(3), []
    committed = {
        name: normal(name, rng, DRAWS * len(known(name))).reshape(DRAWS, len(known(name)), -1)
        for name in dict.fromkeys(REPORT)
    }
    for name in REPORT:
        found.append(Verdicts(name, committed[name], normal(name, rng, DRAWS)))
    # Holm's method rejects any exactly if it rejects the least.
    least = np.min([one.p for one in found], 0)
    return float((least <= 0.05).mean()), float((len(found) * least <= 0.05).mean())


def varied_sources(times: float, runs: int) -> tuple[float, float]:
    """Return which shares of runs differ, and name the spread, of a source that varies so much more."""
    rng, workload = np.random.default_rng(4), "lenet"
    center = known(workload).mean().to_numpy()
    committed = normal(workload, rng, DRAWS * 20).reshape(DRAWS, 20, -1)
    drawn = normal(workload, rng, DRAWS * runs).reshape(DRAWS, runs, -1)
    theirs = center + times * (drawn - center)
    differ = Verdicts(workload, committed, theirs[:, 0]).differs
    ratios = theirs.var(1, ddof=1) / committed.var(1, ddof=1)
    said = (fdtrc(runs - 1, 19, ratios) <= 0.05) & differ
    return float(differ.any(1).mean()), float(said.any(1).sum() / differ.any(1).sum())


def falsely_differing_samples(outcomes: str, published: int, draws: int) -> float:
    """Share of samples of published runs, of the very program that ours are of, whose mean differs."""
    rng, count, workload = np.random.default_rng(6), 0, "reuters-cnn"
    for _ in range(draws):
        values = OUTCOMES[outcomes](workload, rng, 20 + published)[:, 0]
        one = judge(Claim(0.0), NO_RUNS, pd.Series(values[:20]))
        mean = Claim(float(values[20:].mean()))
        count += judge_sample(mean, values[20:], one).verdict == DIFFERS
    return count / draws


def most(draws: int, level: float = 0.05) -> float:
    """A share of 5 %, and three standard deviations of it."""
    return level + 3 * (level * (1 - level) / draws) ** 0.5


def show(rows: list[dict]) -> None:
    print("", pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True), "", sep="\n")


def test_decisions_of_all_papers():
    """By committed runs alone: a number without them is not comparable, and each paper decides something."""
    rows = []
    for (experiment, system), (workload, claims) in PUBLISHED.items():
        of_run: tuple[Judgement, ...] = ()
        if workload in SPREADS:
            spread = SPREADS[workload]
            committed = pd.DataFrame(
                {claim.metric: spread.values(claim.metric, claim.epoch) for claim in claims}
            )
            of_run = judged(workload, claims, committed)
        for place, claim in enumerate(claims):
            row = {"experiment": experiment, "run": system, "metric": claim.metric}
            row |= {"published": f"{claim.value:g}", "center": "", "interval": "", "margin": ""}
            verdict = "not comparable"
            if of_run:
                one = of_run[place]
                verdict, row["center"] = one.verdict, f"{one.center:.4f}"
                row["interval"] = f"{one.low:.4f} to {one.high:.4f}"
                row["margin"] = f"{one.claim.margin:.4f}"
            rows.append(row | {"verdict": verdict})
    show(rows)
    by_paper = pd.DataFrame(rows).groupby("experiment")["verdict"].agg(set)
    for experiment, found in by_paper.items():
        has_spread = {
            workload in SPREADS for (of, _), (workload, _) in PUBLISHED.items() if of == experiment
        }
        assert (found == {"not comparable"}) is (has_spread == {False})
        assert found != {INCONCLUSIVE}


@pytest.mark.parametrize("workload", PRINTED)
@pytest.mark.parametrize("outcomes", OUTCOMES)
def test_arrays_of_verdicts_are_those_of_the_project(workload, outcomes):
    found = replicates(workload, 60, outcomes)
    for runs, values, verdict, p in zip(
        found.committed, found.values, found.of_runs(), found.p, strict=True
    ):
        committed = pd.DataFrame(runs, columns=known(workload).columns)
        claims = [
            Claim(value, metric=claim.metric, rounding=claim.rounding)
            for value, claim in zip(values, PRINTED[workload], strict=True)
        ]
        one = PublishedRun("", "", "", judged(workload, claims, committed))
        assert one.verdict == verdict
        assert min(number.p for number in one.numbers) == pytest.approx(p)


def test_rates_of_each_workload():
    """An exact replicate rarely differs, and what is a margin away rarely holds."""
    rows = []
    for workload in PRINTED:
        found, away = replicates(workload), holds_a_margin_away(workload)
        rates = {verdict: found.share(verdict) for verdict in (DIFFERS, HOLDS, INCONCLUSIVE)}
        shown = {verdict: f"{100 * rate:.1f} %" for verdict, rate in rates.items()}
        numbers = ", ".join(f"{100 * one:.0f}" for one in found.holds.mean(0))
        shown |= {"each number holds": f"{numbers} %", "a margin away": f"{100 * away:.1f} %"}
        rows.append({"workload": workload, **shown})
        assert rates[DIFFERS] <= most(DRAWS)
        assert away <= most(DRAWS)
    show(rows)


@pytest.mark.parametrize("workload", [name for name in PRINTED if name != "lenet"])
def test_what_is_said_to_be_noticed_is(workload):
    """The draws of LeNet have no outliers, but the deviation of runs with outliers."""
    for at in range(len(PRINTED[workload])):
        assert noticed(workload, at) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("workload", PRINTED)
@pytest.mark.parametrize(("outcomes", "level"), [("with outliers", 0.07), ("skewed", 0.07)])
def test_replicates_of_other_distributions_rarely_differ(workload, outcomes, level):
    """A published run may be an outlier where none of ours was."""
    rate = replicates(workload, outcomes=outcomes).share(DIFFERS)
    print(f"{workload}, {outcomes}: {100 * rate:.1f} % differ")
    assert rate <= most(DRAWS, level)


def test_reports_on_replicates_rarely_have_a_run_that_still_differs():
    apart, together = reports()
    print(f"{len(REPORT)} replicates: {100 * apart:.1f} %, adjusted {100 * together:.1f} %")
    assert together <= most(DRAWS) < apart


def test_a_source_that_varies_more_is_noticed_beside_what_differs():
    for times, runs in ((1.0, 8), (1.5, 8), (2.0, 8), (2.0, 3)):
        differ, said = varied_sources(times, runs)
        print(
            f"{runs} runs, {times} times: {100 * differ:.0f} % differ, of these {100 * said:.0f} % say so"
        )
        assert (said > 0.5) is (times > 1)


@pytest.mark.parametrize(("outcomes", "level"), [("normal", 0.05), ("with outliers", 0.07)])
def test_samples_of_the_same_program_rarely_differ(outcomes, level):
    draws = DRAWS // 5
    assert falsely_differing_samples(outcomes, 8, draws) <= most(draws, level)
