"""How far all the runs of a workflow are: one line for people, each time a run ends."""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from statistics import median

from paragone.config.run_spec import cell_of

_INTERVAL = 2.0  # seconds between looks for new records
# Which runs are alike, from the closest on: equal in these parts of their names.
_ALIKE = (
    ("workload", "backend", "replicas", "global_batch"),
    ("workload", "backend"),
    ("workload",),
    ("backend",),
    (),
)


def describe(
    asked: Sequence[str], folder: Path, now: datetime, since: float = 0.0, *, begun: bool = True
) -> str:
    """Done, running and left of the runs `asked` for, and the estimated end.

    `folder`: of all runs; those of earlier calls are examples of how long a run takes. `since`: seconds since
    the epoch; a record that is older will be made again. `begun`: whether one of those left is running.
    """
    ended = _ended(asked, folder, since)
    left = [name for name in asked if name not in ended]
    done, running = len(asked) - len(left), int(begun and bool(left))
    text = f"{done} of {len(asked)} runs done, {running} running, {len(left) - running} waiting"
    if not left:
        return text
    lasted = {
        path.parent.name: _seconds(path, _written(path)) for path in folder.glob("*/record.json")
    }
    known = {name: seconds for name, seconds in lasted.items() if seconds is not None}
    expected = _expected(left, known)
    if None in expected:
        return f"{text}; no like run says yet how long that takes"
    seconds = sum(one for one in expected if one is not None)
    end = now + timedelta(seconds=seconds)
    minutes = max(1, round(seconds / 60))
    words = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    return f"{text}; about {words} more, until {end:%H:%M}"


def watch(asked: Sequence[str], folder: Path, say: Callable[[str], None]) -> threading.Event:
    """Say it now, and each time a run ends, until the event that is returned is set."""
    stop, since = threading.Event(), time.time()

    def follow() -> None:
        seen = None
        while True:
            done = _ended(asked, folder, since)
            if done != seen:
                say(describe(asked, folder, datetime.now(), since))
                seen = done
            if len(done) == len(asked) or stop.wait(_INTERVAL):
                return

    threading.Thread(target=follow, name="sweep", daemon=True).start()
    return stop


def _ended(asked: Sequence[str], folder: Path, since: float) -> set[str]:
    """The runs with a record that is not older."""
    paths = {name: folder / name / "record.json" for name in asked}
    return {name for name, path in paths.items() if 0 < _written(path) >= since}


def _written(path: Path) -> float:
    """When a file was written, seconds since the epoch; 0 if it is not there."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _expected(names: Sequence[str], known: dict[str, float]) -> list[float | None]:
    """Of each, the median of the closest runs that are alike; None where there are no runs at all.

    Each run is looked at once, however many are left: this works beside what is timed.
    """
    groups: dict[tuple, list[float]] = defaultdict(list)
    for name, seconds in known.items():
        for key in _likenesses(name):
            groups[key].append(seconds)
    medians = {key: median(alike) for key, alike in groups.items()}
    return [
        next((medians[key] for key in _likenesses(name) if key in medians), None) for name in names
    ]


@cache
def _likenesses(name: str) -> list[tuple]:
    """What a run has in common with those that are alike, from the closest on."""
    cell = cell_of(name)
    return [tuple((key, cell[key]) for key in keys) for keys in _ALIKE]


@cache
def _seconds(path: Path, written: float) -> float | None:
    """From start to end of a run, in all its starts; None where a record does not say, or is half there.

    written: when; a record is read once.
    """
    try:
        processes = json.loads(path.read_text(encoding="utf-8"))["processes"]
        return sum(float(one["age"]) for one in processes if one["rank"] == 0) or None
    except (OSError, ValueError, KeyError, TypeError):
        return None
