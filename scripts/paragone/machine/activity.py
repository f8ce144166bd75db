"""What a host does while it is timed: differences of the kernel's and the sensors' counters."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import psutil

from paragone.machine import cgroups, nvml
from paragone.records.run_record import Activity

PERIOD = 0.1  # seconds between two samples of accelerators, which take a millisecond each
Sums = tuple[int, np.ndarray]  # how many samples, and their sums (accelerators, fields of a state)
Counters = dict[str, float | None]
Mark = tuple[Counters, Sums]

_CPUS = Path("/sys/devices/system/cpu")
_PRESSURE = Path("/proc/pressure")


class HostWatch:
    """Reads the counters of this host from its creation on; it costs a millisecond at each edge of a window.

    `pids`: the run's processes on this host. The counters are the host's, so that only one of them reads,
    the first; the others report nothing.
    """

    def __init__(self, pids: Sequence[int]) -> None:
        self._reads = pids[0] == os.getpid()
        self._created: Mark | None = None
        if self._reads:
            self._own = [psutil.Process(pid) for pid in pids]
            self._throttles = throttle_files()
            self._accelerators = AcceleratorSamples()
            self._created = self._counters(), self._accelerators.sums()

    def life(self) -> Activity | None:
        """Return what the host did since the creation of this object; None where another process reads."""
        return next(iter(self.since(self._created)), None)

    def mark(self) -> Mark | None:
        """Return the counters right before timed work, for `since`; the clock is read last."""
        if not self._reads:
            return None
        before, sums = self._counters(), self._accelerators.sums()
        before["seconds"] = _since_boot()
        return before, sums

    def since(self, mark: Mark | None) -> list[Activity]:
        """Return what the host did since a mark, the clock read first; empty where another process reads."""
        if mark is None:
            return []
        before, sums = mark
        differences: dict[str, Any] = _differences(before, self._counters())
        return [Activity(**differences, **self._accelerators.since(sums))]

    def _counters(self) -> Counters:
        now, cpu = _since_boot(), psutil.cpu_times()
        return {
            "seconds": now,
            "run": _cpu_seconds(self._own),
            "busy": cpu.user + cpu.nice + cpu.system + cpu.irq + cpu.softirq,
            "idle": cpu.idle + cpu.iowait,
            "stolen": cpu.steal,
            "cpu_waiting": stalled_seconds("cpu"),
            "io_waiting": stalled_seconds("io"),
            "quota_throttled": cgroups.throttled_seconds(),
            "heat_throttles": throttles(self._throttles),
            "accelerator_joules": nvml.joules(),
        }


class AcceleratorSamples:
    """How accelerators run while they work: their clocks, and what holds these down, sampled from now on.

    What NVML says after the work is of idle accelerators. Nothing where it finds no accelerator.
    """

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


def _differences(before: Counters, now: Counters) -> Counters:
    """The differences; None where one of the two is not known. The kernel may correct idle time downwards."""
    pairs = ((key, before[key], value) for key, value in now.items())
    return {
        key: None if new is None or old is None else max(0, round(new - old, 6))
        for key, old, new in pairs
    }


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _cpu_seconds(processes: list[psutil.Process]) -> float:
    """User and system time of processes and of their children that have ended."""
    used = 0.0
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # one that has failed: the supervisor ends the run
            used += sum(process.cpu_times()[:4])
    return used


def stalled_seconds(resource: str, pressure: Path = _PRESSURE) -> float | None:
    """Return the seconds since boot in which some process waited for `cpu` or `io`; None if not counted."""
    try:
        some = (pressure / resource).read_text(encoding="utf-8").splitlines()[0]
    except OSError:  # no kernel with pressure stall information, or no access
        return None
    return int(some.rpartition("total=")[2]) / 1e6


def throttle_files(cpus: Path = _CPUS) -> list[Path]:
    """Return the kernel's counters of how often heat slowed a core or package down."""
    return list(cpus.glob("cpu*/thermal_throttle/*_throttle_count"))


def throttles(files: list[Path]) -> int | None:
    """Return how often heat has slowed cores or packages since boot; None if the kernel does not count."""
    return sum(int(path.read_text(encoding="utf-8")) for path in files) if files else None
