"""The machine of a result: a description, and a hash that distinguishes machines."""

import hashlib
import json
import os
import platform
from pathlib import Path
from typing import Any

import psutil

from paragone.machine import nvml


def describe() -> dict[str, Any]:
    """The `machine` block of a record; `devices` is left for the framework to name.

    `fingerprint`: SHA-256 of what distinguishes machines: host, system, processor, cores,
    memory in GiB, accelerators and their driver; not of what a single process may use of it.
    """
    memory = psutil.virtual_memory().total
    whole = {
        "host": platform.node(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": psutil.cpu_count(),
        "memory_gib": round(memory / 2**30),  # the kernel's share of it differs from boot to boot
        "accelerators": nvml.names(),
        "driver": nvml.driver(),
    }
    text = json.dumps(whole, sort_keys=True)
    return {
        "fingerprint": hashlib.sha256(text.encode()).hexdigest(),
        **{key: whole[key] for key in ("system", "processor", "accelerators", "driver")},
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory,
        "devices": [],
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()
