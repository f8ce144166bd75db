"""The table of `make bench`: its rows, and how ratios are stated."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from paragone.analysis.statistics import ALPHA, FEWEST_EFFECTS, Effects


@dataclass(frozen=True)
class Row:
    """One claim: what was measured against what, in one run.

    `asked`: the least that is wanted, in words. `reached`: whether it is; empty where a row only informs.
    """

    part: str
    against: str
    measured: str
    asked: str
    reached: str

    def cells(self) -> tuple[str, ...]:
        """The row of a Markdown table."""
        return self.part, self.against, self.measured, self.asked, self.reached


HEADER = ("part", "against", "measured", "asked", "reached")
YES, NO, UNDECIDED = "yes", "**no**", "undecided"
PATIENCE = 180.0  # seconds after which a comparison with three rounds begins no other
FEW = 5  # measurements whose range says more than an interval


def markdown(rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [HEADER, ("---",) * len(HEADER), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def stated(values: Sequence[float], unit: str, digits: int = 2) -> str:
    """Median, range and n, of one value or several; of many the geometric mean, its 90 % interval, and n."""
    if len(values) > FEW:
        effects = Effects(np.log(values))
        middle, low, high = (
            f"{value:,.{digits}f}" for value in np.exp([effects.mean, *effects.interval(2 * ALPHA)])
        )
        return f"{f'{middle} {unit}'.strip()} [{low}, {high}] (n = {len(values)})"
    shown = f"{median(values):,.{digits}f} {unit}".strip()
    if len(values) == 1:
        return f"{shown} (n = 1)"
    low, high = (f"{value:,.{digits}f}" for value in (min(values), max(values)))
    return f"{shown} ({low} to {high}, n = {len(values)})"


def at_most(limit: float, values: Sequence[float]) -> str:
    """Whether measurements, all above 0, are within a limit, beyond it, or do not decide it.

    By one-sided t tests at 5 %, on the logs: is the whole 90 % interval on one side? One or two measurements
    must agree.
    """
    if len(values) < FEWEST_EFFECTS:
        return YES if max(values) <= limit else NO if min(values) > limit else UNDECIDED
    effects, limit = Effects(np.log(values)), float(np.log(limit))
    if effects.p_below(limit) <= ALPHA:
        return YES
    return NO if effects.p_above(limit) <= ALPHA else UNDECIDED


def at_least(limit: float, values: Sequence[float]) -> str:
    """Whether measurements reach a limit, likewise."""
    return at_most(1 / limit, [1 / value for value in values])


def in_turn(rounds: int, *measures: Callable[[], float]) -> list[tuple[float, ...]]:
    """Measurements, each taken once a round, one beside the other, in turn from either end.

    A slow machine takes fewer rounds, but never fewer than three: time ends them, not what they show.
    """
    taken: list[tuple[float, ...]] = []
    begun = time.monotonic()
    for number in range(rounds):
        if number >= 3 and time.monotonic() - begun > PATIENCE:
            break
        turn = -1 if number % 2 else 1
        taken.append(tuple([measure() for measure in measures[::turn]][::turn]))
    return taken


def quotients(pairs: Sequence[tuple[float, ...]]) -> list[float]:
    """The first of each pair over the second."""
    return [first / second for first, second in pairs]
