"""Rows of `make bench` on growth: does twice the work cost twice the time, or more?

What one more costs is measured twice, from the smallest size to the middle one and from there to the largest.
Constant costs are in neither, so that none hides a cost that rises. Where the largest size takes at most
1.1 times as long as the smallest, what one more costs is noise, and nothing grows.
"""

import statistics
import tempfile
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import workflow
from product import Data, cost, elapsed, specification, train
from rows import NO, UNDECIDED, YES, Row, at_most, stated

from paragone.config.run_spec import TUNED

# By how much the second cost may exceed the first, and in how many more it decides nothing.
NOISE, UNCLEAR = 1.1, 1.25
ROUNDS = 3  # of a run


def rows(data: Data) -> list[Callable[[], list[Row]]]:
    """The measurements, in order; each makes its rows."""
    return [
        grows_with_runs,
        grows_with_records,
        partial(grows_with_epochs, data),
        partial(grows_with_examples, data),
        *(partial(grows_with_replicas, data, name) for name in ("tensorflow-mirrored", "jax")),
    ]


def grows_with_runs() -> list[Row]:
    """Planning."""
    return [row("planning, by runs", "run", [1000, 3000, 10_000], planning)]


def planning(count: int) -> float:
    """Seconds of a dry run of so many runs."""
    with tempfile.TemporaryDirectory() as name:
        return elapsed(*workflow.planning_of(count, Path(name)), folder=Path(name))


def grows_with_records() -> list[Row]:
    """Collecting records to tables."""
    return [row("collecting, by records", "record", [1000, 3000, 10_000], collecting)]


def collecting(count: int) -> float:
    """Seconds of one table of so many records."""
    with tempfile.TemporaryDirectory() as name:
        return cost(*workflow.collecting_of(count, Path(name))).seconds


def grows_with_epochs(data: Data) -> list[Row]:
    """A run of many epochs: evaluation, checkpoint and record of each; its last epochs beside its first."""
    sizes, ratios = [10, 30, 90], list[float]()

    def run(epochs: int) -> float:
        about: dict[str, Any] = {"epochs": epochs, "steps_per_epoch": 2}
        made = train(specification("fashion-cnn", "torch", 128, **about), data)
        if epochs == sizes[-1]:
            each = [one.train_seconds + one.evaluate_seconds for one in made.record.epochs]
            ratios.append(sum(each[-30:]) / sum(each[:30]))
        return made.seconds

    part = "a run of two steps per epoch"
    between = row(f"{part}, by epochs", "epoch", sizes, run, ROUNDS)
    within = Row(
        f"{part}: its last 30 epochs of 90, evaluation included",
        "its first 30",
        stated(ratios, "x"),
        f"{NOISE} x",
        at_most(NOISE, ratios),
    )
    return [between, within]


def grows_with_examples(data: Data) -> list[Row]:
    """An epoch of many examples."""

    def run(examples: int) -> float:
        about: dict[str, Any] = {"epochs": 1, "train_examples": examples, "division": TUNED}
        return train(specification("fashion-cnn", "torch", 128, **about), data).seconds

    sizes = [10_000, 30_000, 60_000]
    return [row("a run of one epoch, by examples", "example", sizes, run, ROUNDS)]


def grows_with_replicas(data: Data, backend: str) -> list[Row]:
    """From a worker's start to the end of compilation."""

    def run(replicas: int) -> float:
        about: dict[str, Any] = {"epochs": 1, "steps_per_epoch": 2}
        made = train(specification("fashion-cnn", backend, 128, replicas, **about), data)
        return sum(vars(made.cold).values())

    part = f"start and compilation, `{backend}`, by replicas"
    return [row(part, "replica", [1, 4, 8], run, ROUNDS)]


def row(
    part: str, unit: str, sizes: Sequence[int], measure: Callable[[int], float], rounds: int = 1
) -> Row:
    """What was measured at three sizes, and what one more costs before and after the middle one, by medians.

    The verdict is that of all rounds, undecided where they differ.
    """
    taken = [[measure(size) for size in sizes] for _ in range(rounds)]
    seconds = [statistics.median(of_size) for of_size in zip(*taken, strict=True)]
    first, second = per_unit(sizes, seconds)
    shown = ", ".join(f"{one:,}: {long:.1f} s" for one, long in zip(sizes, seconds, strict=True))
    if rounds > 1:
        shown += f" (medians, n = {rounds})"
    return Row(
        part,
        "in proportion",
        f"{shown}; {1e3 * first:,.3g} and then {1e3 * second:,.3g} ms per {unit}",
        f"at most {NOISE} x per unit; to {UNCLEAR} x undecided",
        common({verdict(sizes, of_round) for of_round in taken}),
    )


def per_unit(sizes: Sequence[int], seconds: Sequence[float]) -> tuple[float, float]:
    """Seconds of one more, between the first two sizes and between the last two."""
    first, second = ((seconds[at + 1] - seconds[at]) / (sizes[at + 1] - sizes[at]) for at in (0, 1))
    return first, second


def verdict(sizes: Sequence[int], seconds: Sequence[float]) -> str:
    """Whether one more costs no more as the work grows."""
    first, second = per_unit(sizes, seconds)
    if second <= NOISE * first or seconds[-1] <= NOISE * seconds[0]:
        return YES
    return UNDECIDED if second <= UNCLEAR * first else NO


def common(verdicts: Collection[str]) -> str:
    """What all rounds say."""
    return next(iter(verdicts)) if len(verdicts) == 1 else UNDECIDED
