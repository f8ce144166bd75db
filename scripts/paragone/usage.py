"""What one process of a run used: the parts of its `processes` entry that are known at its end."""

import resource
from typing import Any

import psutil

from paragone.data import Dataset
from paragone.energy import EnergyMeter
from paragone.engines import Engine
from paragone.isolation import LoadWatch
from paragone.spec import Spec


def of_run(spec: Spec, dataset: Dataset) -> dict[str, Any]:
    """What this process read, and None for what `Usage.stop` finds out: a killed process leaves it so."""
    return {
        "config_sha256": spec.sha256,
        "manifest_sha256": dataset.manifest_sha256,
        "system_threads": None,
        "memory": {"peak_host_bytes": None, "peak_device_bytes": None},
        "energy": {"cpu_joules": None, "accelerator_joules": None},
    }


class Usage:
    """Watches this process, its machine and its neighbours from its making on."""

    def __init__(self) -> None:
        self._load, self._energy = LoadWatch(), EnergyMeter()

    def cpu_seconds(self) -> dict[str, float]:
        """See `LoadWatch.cpu_seconds`."""
        return self._load.cpu_seconds()

    def stop(self, process: dict[str, Any], engine: Engine) -> None:
        """Fill in this process's entry. Call it right after the last timed work."""
        process["load"] |= self._load.stop()
        process["energy"] = self._energy.stop()
        process["system_threads"] = psutil.Process().num_threads()
        opened = hasattr(engine, "devices")  # not where the run was unavailable
        process["memory"] = {
            # Linux tells KiB.
            "peak_host_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "peak_device_bytes": engine.peak_device_memory() if opened else None,
        }
