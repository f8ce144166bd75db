"""What a framework's own profiler saw of some training steps: operations, and their own time.

A module `<engine>_profile` has `profile(work, kind)`: under the profiler it calls `work`, which trains on
devices of that kind and returns the seconds that this took, and returns a `Profile`. Which module is whose:
`config/profilers.py`. It is imported before the engine is built.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

Event = tuple[str, float, float]  # name, begin, seconds


@dataclass(frozen=True)
class Operation:
    """One kind of operation: calls, and seconds in it without those in operations that it calls."""

    name: str
    calls: int
    seconds: float


@dataclass(frozen=True)
class Profile:
    """`seconds`: those that the work under the profiler has returned. `of`: what operations are, in words."""

    profiler: str
    version: str
    of: str
    seconds: float
    operations: list[Operation]


@dataclass(frozen=True)
class Line:
    """The events of one thread or one stream of a device, in any order. `plane`: what it is a line of."""

    plane: str
    name: str
    events: list[Event]


def of_device(lines: Iterable[Line]) -> list[Line]:
    """The lines of operations that GPUs or TPUs have executed; none on a CPU, whose lines are threads.

    A device has further lines, of whole steps and programs, in which the same time is counted again.
    """
    return [
        line
        for line in lines
        if line.plane.startswith("/device:") and re.match(r"XLA Ops$|Stream #", line.name)
    ]


def operations_of(lines: Iterable[Line]) -> list[Operation]:
    """The operations of all lines by name, each event without those that its line has inside it."""
    calls: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for line in lines:
        for name, own in _own_seconds(line.events):
            calls[name] = calls.get(name, 0) + 1
            seconds[name] = seconds.get(name, 0.0) + own
    return [Operation(name, calls[name], seconds[name]) for name in calls]


def _own_seconds(events: Iterable[Event]) -> Iterator[tuple[str, float]]:
    """Each event's name, and its seconds less those of the events right inside it."""
    around: list[list] = []  # of the event at hand, outermost first: name, end, own seconds
    for name, begin, length in sorted(events, key=lambda one: (one[1], -one[2])):
        while around and around[-1][1] <= begin:
            yield around[-1][0], max(0.0, around.pop()[2])
        if around:
            around[-1][2] -= length
        around.append([name, begin + length, length])
    yield from ((name, max(0.0, own)) for name, _, own in around)


def written(folder: Path) -> Path:
    """The one file that a profiler of XLA's kind has written below a folder."""
    (path,) = folder.rglob("*.xplane.pb")
    return path
