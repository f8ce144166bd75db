"""The clocks of a run: every second of a process is charged to exactly one part.

The kernel measures the same process independently: see the rule `clock-sum`.
"""

import time

from paragone.machine.process_entry import age
from paragone.records.run_record import CLOCK_PARTS


class Ledger:
    """Charges time to the current part, from the start of the process on; `mark`: the last switch."""

    def __init__(self) -> None:
        now = time.perf_counter()
        self.mark = now - age(now)
        self._part = "imports"
        self.seconds = dict.fromkeys(CLOCK_PARTS, 0.0)

    def switch(self, part: str) -> float:
        """End the current window, begin one of `part`; return the length of the ended one, seconds."""
        now = time.perf_counter()
        window = now - self.mark
        self.seconds[self._part] += window
        self.mark, self._part = now, part
        return window

    def add(self, earlier: dict[str, float]) -> None:
        """Add the seconds of an earlier process of the same run."""
        for part, seconds in earlier.items():
            self.seconds[part] += seconds
