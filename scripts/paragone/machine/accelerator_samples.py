"""How accelerators run while they work: their clocks, and what holds these down, sampled in the background.

What NVML says after the work is of idle accelerators, which tells nothing of the work.
"""

import time
from dataclasses import dataclass
from threading import Thread
from typing import Any

from paragone.machine import nvml

PERIOD = 0.1  # seconds between two samples, which take a millisecond each


@dataclass(frozen=True)
class Sums:
    """Of all samples so far, and by accelerator of their clocks (MHz), of those in which the power limit
    held the clock down, and of those in which heat or a failing supply did."""

    samples: int
    mhz: tuple[float, ...]
    power_capped: tuple[int, ...]
    slowed: tuple[int, ...]


class AcceleratorSamples:
    """Samples every `period` seconds from its creation on; nothing where NVML finds no accelerator."""

    def __init__(self, period: float = PERIOD) -> None:
        none = (0,) * len(nvml.names())
        self._sums = Sums(0, none, none, none)
        if none:
            Thread(target=self._sample, args=(period,), daemon=True).start()

    def sums(self) -> Sums:
        """Return the sums of the samples until now, for `since`."""
        return self._sums

    def since(self, before: Sums) -> dict[str, Any]:
        """Return by accelerator the mean clock and the shares of held samples; None without a sample."""
        now = self._sums
        taken = now.samples - before.samples

        def means(key: str) -> list[float] | None:
            pairs = zip(getattr(now, key), getattr(before, key), strict=True)
            return [round((new - old) / taken, 6) for new, old in pairs] if taken else None

        return {f"accelerator_{key}": means(key) for key in ("mhz", "power_capped", "slowed")}

    def _sample(self, period: float) -> None:
        while states := nvml.states():
            old = self._sums
            # Replaced as a whole: whoever reads meanwhile sees one state or the other.
            self._sums = Sums(
                old.samples + 1,
                _added(old.mhz, [one.mhz for one in states]),
                _added(old.power_capped, [one.power_capped for one in states]),
                _added(old.slowed, [one.slowed for one in states]),
            )
            time.sleep(period)


def _added(sums: tuple, values: list) -> tuple:
    return tuple(total + value for total, value in zip(sums, values, strict=True))
