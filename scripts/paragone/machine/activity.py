"""What a host does while it is timed: differences of the kernel's and the sensors' counters."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from paragone.machine import accelerators, limits
from paragone.records.run_record import Activity

Counters = dict[str, float | None]


class HostWatch:
    """Reads the counters of this host from its creation on; it costs a millisecond at each edge of a window.

    `pids`: the run's processes on this host. The counters are the host's, so that only one of them reads,
    the first; the others report nothing. `cores`: those whose time is read, if not all.
    """

    def __init__(self, pids: Sequence[int], cores: Sequence[int] = ()) -> None:
        self._cores = cores
        self._reads = pids[0] == os.getpid()
        self._created: Counters | None = None
        if self._reads:
            self._family = [psutil.Process(pid) for pid in pids]
            self._heat_files = heat_files()
            self._created = self._counters()

    def life(self) -> Activity | None:
        """Return what the host did since the creation of this object; None where another process reads."""
        return next(iter(self.since(self._created)), None)

    def mark(self) -> Counters | None:
        """Return the counters right before timed work, for `since`; the clock is read last."""
        if not self._reads:
            return None
        return self._counters() | {"seconds": time.clock_gettime(time.CLOCK_BOOTTIME)}

    def since(self, mark: Counters | None) -> list[Activity]:
        """Return what the host did since a mark, the clock read first; empty where another process reads."""
        if mark is None:
            return []
        # None where a counter is not known. The kernel may correct idle time downwards.
        differences: dict[str, Any] = {
            key: None if (old := mark[key]) is None or new is None else max(0, round(new - old, 6))
            for key, new in self._counters().items()
        }
        return [Activity(**differences)]

    def _counters(self) -> Counters:
        now, times = time.clock_gettime(time.CLOCK_BOOTTIME), psutil.cpu_times(percpu=True)
        # Unless there are cores that are offline, which psutil leaves out.
        if self._cores and max(self._cores) < len(times):
            times = [times[core] for core in self._cores]
        return {
            "seconds": now,
            "run": _cpu_seconds(self._family),
            "busy": sum(cpu.user + cpu.nice + cpu.system + cpu.irq + cpu.softirq for cpu in times),
            "idle": sum(cpu.idle + cpu.iowait for cpu in times),
            "stolen": sum(cpu.steal for cpu in times),
            "quota_throttled": limits.throttled_seconds(),
            "heat_throttles": heat_throttles(self._heat_files),
            "accelerator_joules": accelerators.joules(),
        }


def _cpu_seconds(processes: list[psutil.Process]) -> float:
    used = 0.0
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # one that has failed: the supervisor ends the run
            used += sum(process.cpu_times()[:4])
    return used


def heat_files(cpus: Path = Path("/sys/devices/system/cpu")) -> list[Path]:
    """Return the kernel's counters of how often heat slowed a core or package down."""
    return list(cpus.glob("cpu*/thermal_throttle/*_throttle_count"))


def heat_throttles(files: list[Path]) -> int | None:
    """Return how often heat has slowed cores or packages since boot; None if the kernel does not count."""
    return sum(int(path.read_text(encoding="utf-8")) for path in files) if files else None
