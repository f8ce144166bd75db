"""The machine of a result: a description, and a hash that distinguishes machines."""

import platform
from pathlib import Path
from typing import Any

import psutil

from paragone.base import digests
from paragone.machine import nvml
from paragone.records.run_record import Machine


def describe() -> Machine:
    """Return what distinguishes this machine from others, and the hash of that.

    Memory is in GiB: the kernel's own share of it differs from boot to boot. What a single process may
    use of the machine is no part of it.
    """
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    processors = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    machine: dict[str, Any] = {
        "host": platform.node(),
        "system": platform.platform(),
        "processor": next(processors, platform.machine()),
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "accelerators": nvml.names(),
        "driver": nvml.driver(),
    }
    return Machine(fingerprint=digests.sha256_of(machine), **machine)
