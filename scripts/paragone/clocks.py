"""The clocks of a run: every second of a process is charged to exactly one part.

So the parts add up to the end-to-end time by construction, and the record asserts it.
"""

import os
import time
from pathlib import Path

COLD = ("imports", "devices", "data", "compilation")
PARTS = (*COLD, "train", "evaluate", "checkpoint", "other")


class Ledger:
    """Charges time to the current part, from the start of the process on."""

    def __init__(self) -> None:
        self._mark = time.perf_counter() - age()
        self._part = "imports"
        self.seconds = dict.fromkeys(PARTS, 0.0)

    def switch(self, part: str) -> float:
        """End the current window, begin one of `part`; return the length of the ended one, seconds."""
        now = time.perf_counter()
        window = now - self._mark
        self.seconds[self._part] += window
        self._mark, self._part = now, part
        return window

    def add(self, earlier: dict[str, float]) -> None:
        """Add the seconds of an earlier process of the same run."""
        for part, seconds in earlier.items():
            self.seconds[part] += seconds


def age() -> float:
    """Seconds since this process started.

    From the kernel's clock since boot: what psutil says is up to a second off, because it adds the
    time of the boot, which is known in whole seconds.
    """
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")  # field 22 of all, after name and state
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started
