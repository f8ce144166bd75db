"""Waiting while others use the machine: what a contest does about windows that other work has disturbed.

The rule looks at the load of the machine, and never at a speed.
"""

import time
from collections import defaultdict
from collections.abc import Iterable

import psutil

from paragone.machine.activity import HostWatch
from paragone.records.run_metrics import is_disturbed, other_cpu_share
from paragone.records.run_record import Activity

SAMPLE = 1.0  # seconds of a look at the machine
SILENCE = 10.0  # seconds between two lines of progress


class Calm:
    """Tells disturbed windows from calm ones, and waits for a calm second after a disturbed one.

    `name`: of the question, for progress. `load`: the share of the machine that others may have. `patience`:
    seconds that may be lost to others. `lost`: seconds that were, in disturbed windows and in waiting.
    `busiest`: by program the largest share of the machine that it had when it was the busiest.
    """

    def __init__(self, name: str, load: float, patience: float) -> None:
        self._name, self._load, self._patience = name, load, patience
        self.lost = 0.0
        self.busiest: dict[str, float] = {}
        self._last_line = -SILENCE

    def loses(self, host: Activity) -> bool:
        """Return whether others had too much of the machine, and count the seconds that were lost so."""
        disturbed = is_disturbed(host, self._load)
        self.lost += disturbed * host.seconds
        return disturbed

    def wait(self, host: HostWatch, family: Iterable[int]) -> bool:
        """Wait for a calm second; return False where the patience ends before. `family`: our processes."""
        family = {*family}
        while self.lost < self._patience:
            mark, before = host.mark(), _cpu_seconds(family)
            time.sleep(SAMPLE)
            after = _cpu_seconds(family)
            (activity,) = host.since(mark)
            if not self.loses(activity):
                return True
            used: defaultdict[str, float] = defaultdict(float)
            for pid, (name, seconds) in after.items():
                used[name] += seconds - before.get(pid, ("", 0.0))[1]
            self._note(used, activity)
        return False

    def _note(self, used: dict[str, float], activity: Activity) -> None:
        """Keep the busiest program, and print it at most every `SILENCE` seconds."""
        used["other machines on this hardware"] = activity.stolen
        name = max(used, key=used.__getitem__)
        share = used[name] / (activity.busy + activity.idle + activity.stolen)
        if share < self._load / 2:  # many programs, or short ones
            name, share = "others", other_cpu_share([activity]) or 0.0
        self.busiest[name] = max(share, self.busiest.get(name, 0.0))
        if (now := time.monotonic()) - self._last_line > SILENCE:
            self._last_line = now
            print(f"[{self._name}] busy: {name} {100 * share:.0f} %, waiting", flush=True)


def _cpu_seconds(family: set[int]) -> dict[int, tuple[str, float]]:
    """Return the program of every other process, by its number, and its CPU time so far."""
    return {
        process.pid: (process.info["name"], sum(times[:2]))
        for process in psutil.process_iter(["name", "cpu_times"])
        if process.pid not in family and (times := process.info["cpu_times"])
    }
