"""How accelerators run while they work: their clocks, and what holds these down, sampled in the background.

What NVML says after the work is of idle accelerators, which tells nothing of the work.
"""

import time
from threading import Thread
from typing import Any

import numpy as np

from paragone.machine import nvml

PERIOD = 0.1  # seconds between two samples, which take a millisecond each
Sums = tuple[int, np.ndarray]  # how many samples, and their sums (accelerators, fields of a state)


class AcceleratorSamples:
    """Samples from its creation on; nothing where NVML finds no accelerator."""

    def __init__(self) -> None:
        count = len(nvml.names())
        self._sums: Sums = 0, np.zeros((count, len(nvml.State._fields)))
        if count:
            Thread(target=self._sample, daemon=True).start()

    def sums(self) -> Sums:
        """Return the sums of the samples until now, for `since`."""
        return self._sums

    def since(self, before: Sums) -> dict[str, Any]:
        """Return by accelerator the mean clock and the shares of held samples; None without a sample."""
        now = self._sums
        taken, sums = now[0] - before[0], now[1] - before[1]
        means = (sums.T / taken).round(6).tolist() if taken else [None] * len(nvml.State._fields)
        return {
            f"accelerator_{key}": mean for key, mean in zip(nvml.State._fields, means, strict=True)
        }

    def _sample(self) -> None:
        while states := nvml.states():
            taken, sums = self._sums
            # Replaced as a whole: whoever reads meanwhile sees one state or the other.
            self._sums = taken + 1, sums + np.array(states)
            time.sleep(PERIOD)
