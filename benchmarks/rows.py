"""The table of `make bench`: its rows, and how ratios are stated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


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


def markdown(rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [HEADER, ("---",) * len(HEADER), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def stated(values: Sequence[float], unit: str, digits: int = 2) -> str:
    """Median, range and n, of one value or several."""
    shown = f"{median(values):,.{digits}f} {unit}".strip()
    if len(values) == 1:
        return f"{shown} (n = 1)"
    low, high = (f"{one:,.{digits}f}" for one in (min(values), max(values)))
    return f"{shown} ({low} to {high}, n = {len(values)})"


def at_most(limit: float, values: Sequence[float]) -> str:
    """Whether measurements are within a limit: all of them, none, or undecided."""
    within = [value <= limit for value in values]
    return YES if all(within) else UNDECIDED if any(within) else NO


def at_least(limit: float, values: Sequence[float]) -> str:
    """Whether measurements reach a limit: all of them, none, or undecided."""
    return at_most(-limit, [-value for value in values])


def in_turn(rounds: int, *measures: Callable[[], float]) -> list[tuple[float, ...]]:
    """Measurements, each taken once a round, one beside the other."""
    return [tuple(measure() for measure in measures) for _ in range(rounds)]


def quotients(pairs: Sequence[tuple[float, ...]]) -> list[float]:
    """The first of each pair over the second."""
    return [first / second for first, second in pairs]
