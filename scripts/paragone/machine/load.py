"""The state of a host around timed work: load average, clock, power limits."""

import os
from typing import Any

import psutil

from paragone.machine import nvml


def at_start() -> dict[str, Any]:
    """The record's `load` block at the start of a process; it stays so if the process is killed."""
    unknown = ("cpu_mhz", "accelerator_power_limits", "life")
    return {"before": os.getloadavg()[0], **dict.fromkeys(unknown)}


def at_end() -> dict[str, Any]:
    """The clock and the limits at this moment: call it right after the work. None: not reported."""
    frequency = psutil.cpu_freq()
    return {
        "cpu_mhz": frequency.current if frequency else None,
        "accelerator_power_limits": nvml.power_limits(),
    }
