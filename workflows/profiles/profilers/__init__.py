"""What a framework's own profiler saw of some training steps: its operations, and the time of each.

A module of this package has `profile(work, kind)`. It calls `work`, which trains on devices of that kind and
returns the seconds that this took, under the profiler, and returns a `Profile`. It is imported before the
engine is built.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# The module of this package that profiles the steps of an engine. Engines of plugins have none.
PROFILERS = {
    "jax": "jax",
    "tensorflow": "tensorflow",
    "torch": "torch",
    "torch_compile": "torch",
    "torch_ddp": "torch",
    "torch_fsdp": "torch",
    "torch_xla": "torch_xla",
    "torch_xla_multiprocess": "torch_xla",
}

Event = tuple[str, float, float]  # name, begin in seconds, length in seconds


@dataclass(frozen=True)
class Operation:
    """One kind of operation: its calls, and the seconds in it but not in operations that it calls."""

    name: str
    calls: int
    seconds: float


@dataclass(frozen=True)
class Profile:
    """What a profiler saw. `seconds` is what `work` returned, `operations_are` says what operations are."""

    profiler: str
    version: str
    operations_are: str
    seconds: float
    operations: list[Operation]


@dataclass(frozen=True)
class Line:
    """The events of one thread, or of one stream of a device, in any order; `plane` names host or device."""

    plane: str
    name: str
    events: list[Event]


def of_device(lines: Iterable[Line]) -> list[Line]:
    """The lines of operations that GPUs or TPUs executed.

    Other lines of a device are left out: they have whole steps and programs, in which the same time is
    counted again.
    """
    return [
        line
        for line in lines
        if line.plane.startswith("/device:") and re.match(r"XLA Ops$|Stream #", line.name)
    ]


def operations_of(lines: Iterable[Line]) -> list[Operation]:
    """The operations of all lines by name; the time of events inside an event is not counted for it."""
    calls: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for line in lines:
        for name, exclusive in _own_seconds(line.events):
            calls[name] = calls.get(name, 0) + 1
            seconds[name] = seconds.get(name, 0.0) + exclusive
    return [Operation(name, calls[name], seconds[name]) for name in calls]


def _own_seconds(events: Iterable[Event]) -> Iterator[tuple[str, float]]:
    """Each event's name, and its seconds less those of the events directly inside it."""
    around: list[list] = []  # the events that enclose the current one: name, end, own seconds
    for name, begin, length in sorted(events, key=lambda event: (event[1], -event[2])):
        while around and around[-1][1] <= begin:
            yield around[-1][0], max(0.0, around.pop()[2])
        if around:
            around[-1][2] -= length
        around.append([name, begin + length, length])
    yield from ((name, max(0.0, exclusive)) for name, _, exclusive in around)


def written(folder: Path) -> Path:
    """The one trace that a profiler of XLA's kind has written below a folder."""
    (path,) = folder.rglob("*.xplane.pb")
    return path
