"""What one process of a run used: the part of its `processes` entry that is known at its end."""

import resource
from typing import Any

import psutil

from paragone.machine.energy import EnergyMeter
from paragone.machine.load import LoadWatch


def unknown() -> dict[str, Any]:
    """What `Usage.stop` fills in; it stays None if the process is killed."""
    return {
        "system_threads": None,
        "memory": {"peak_host_bytes": None, "peak_device_bytes": None},
        "energy": {"cpu_joules": None, "accelerator_joules": None},
    }


class Usage:
    """Measures this process, its machine and other processes from its creation."""

    def __init__(self) -> None:
        self._load, self._energy = LoadWatch(), EnergyMeter()

    def cpu_seconds(self) -> dict[str, float]:
        """See `LoadWatch.cpu_seconds`."""
        return self._load.cpu_seconds()

    def stop(self, process: dict[str, Any], peak_device_bytes: int | None) -> None:
        """Fill in this process's entry. Call it right after the last timed work."""
        process["load"] |= self._load.stop()
        process["energy"] = self._energy.stop()
        process["system_threads"] = psutil.Process().num_threads()
        process["memory"] = {
            # Linux reports KiB.
            "peak_host_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "peak_device_bytes": peak_device_bytes,
        }
