"""Whether a timed process had the machine to itself: load, other processes, frequency, throttling."""

import os
from pathlib import Path
from typing import Any

import psutil

from paragone.machine import nvml

# Of the machine's CPU time, by other processes: above it a run is flagged. Snakemake, which waits for the
# run, takes about 0.03 of two cores by itself.
BUSY_SHARE = 0.1
_CPUS = Path("/sys/devices/system/cpu")


def unknown() -> dict[str, Any]:
    """The record's `load` block at the start of a process; it stays so if the process is killed."""
    return {
        "before": os.getloadavg()[0],
        **dict.fromkeys(["other_cpu_share", "busy", "cpu_mhz", "cpu_throttles"]),
        **dict.fromkeys(["accelerator_mhz", "accelerator_throttled"]),
    }


class LoadWatch:
    """Measures the load of other processes from its creation."""

    def __init__(self) -> None:
        self._machine, self._own = _busy_seconds(), _own_seconds()
        self._idle = psutil.cpu_times().idle
        self._throttles = cpu_throttles()

    def stop(self) -> dict[str, Any]:
        """All of `load` but `before`; None for what the system does not report.

        Clocks are those of this moment: call it right after the work.
        """
        throttles, seconds = cpu_throttles(), self.cpu_seconds()
        frequency = psutil.cpu_freq()
        return {
            "cpu_mhz": frequency.current if frequency else None,
            "accelerator_mhz": nvml.clocks(),
            "accelerator_throttled": nvml.throttled(),
            **others(seconds, seconds["own"]),
            "cpu_throttles": None if throttles is None else throttles - (self._throttles or 0),
        }

    def cpu_seconds(self) -> dict[str, float]:
        """CPU time since the start: of this process, of the machine, and idle time."""
        return {
            "own": _own_seconds() - self._own,
            "busy": _busy_seconds() - self._machine,
            "idle": psutil.cpu_times().idle - self._idle,
        }


def others(seconds: dict[str, float], of_the_run: float) -> dict[str, Any]:
    """Share of a machine's CPU time that other work used, 0 to 1, and whether that is too much.

    `of_the_run`: CPU seconds that the workers of the run took on this machine.
    """
    total = seconds["busy"] + seconds["idle"]
    share = max(0.0, (seconds["busy"] - of_the_run) / total) if total > 0 else 0.0
    return {"other_cpu_share": share, "busy": share > BUSY_SHARE}


def cpu_throttles(cpus: Path = _CPUS) -> int | None:
    """How often heat has slowed cores or packages down since boot; None if the kernel does not count."""
    counts = list(cpus.glob("cpu*/thermal_throttle/*_throttle_count"))
    return sum(int(path.read_text()) for path in counts) if counts else None


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return times.user + times.system + times.nice


def _own_seconds() -> float:
    own = psutil.Process().cpu_times()
    return own.user + own.system + own.children_user + own.children_system
