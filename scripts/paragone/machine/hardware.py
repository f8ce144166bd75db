"""The machine of a result: a description, and a hash that distinguishes machines."""

import platform
from pathlib import Path
from typing import Any

import psutil

from paragone.base import digests
from paragone.machine import accelerators
from paragone.records.run_record import Machine

# Flags of a processor -> its vector instructions in words, the widest first. Processors of one name may
# differ in them, since a virtual machine can hide some.
_INSTRUCTIONS = {
    "amx_bf16": "AMX",
    "avx512_bf16": "AVX-512 with bfloat16",
    "avx512f": "AVX-512",
    "avx2": "AVX2",
}


def describe() -> Machine:
    """Return what distinguishes this machine from others, and the hash of that.

    Memory is in GiB: the kernel's own share of it differs from boot to boot. What a single process may
    use of the machine is no part of it.
    """
    machine: dict[str, Any] = {
        "host": platform.node(),
        "system": platform.platform(),
        "processor": processor(Path("/proc/cpuinfo").read_text(encoding="utf-8")),
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "accelerators": accelerators.names(),
        "driver": accelerators.driver(),
    }
    return Machine(fingerprint=digests.sha256_of(machine), **machine)


def processor(cpuinfo: str) -> str:
    """Return the processor and its widest vector instructions: "AMD EPYC, AVX2".

    `cpuinfo` is the text of /proc/cpuinfo. Where it has no name, as on ARM, the architecture is returned.
    """
    lines = (line.partition(":") for line in cpuinfo.splitlines())
    facts = {key.strip(): value.strip() for key, _, value in lines}
    flags = facts.get("flags", "").split()
    name = facts.get("model name", platform.machine())
    widest = [instructions for flag, instructions in _INSTRUCTIONS.items() if flag in flags]
    return ", ".join([name, *widest[:1]])
