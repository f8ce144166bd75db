"""A host's accelerators, as NVIDIA's management library (NVML) and the kernel know them."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pynvml


def names() -> list[str]:
    """Return the names of all accelerators of NVML, in its order; none where there is no library."""
    return [pynvml.nvmlDeviceGetName(handle) for handle in _handles()]


def driver() -> str | None:
    """Return the driver's version; None where there is no accelerator."""
    return pynvml.nvmlSystemGetDriverVersion() if _handles() else None


def joules() -> float | None:
    """Return the joules that all accelerators drew since their driver was loaded; None if one counts none."""
    drawn = _query(pynvml.nvmlDeviceGetTotalEnergyConsumption)
    return None if drawn is None else sum(drawn) / 1000  # in millijoules


def identities() -> list[str]:
    """Return what is equal for two processes of a host if and only if they share the visible accelerators.

    Numbers do not tell GPUs apart: where Slurm starts a task per GPU, each task's only GPU is number 0.
    Returned are UUIDs where NVML has them; else numbers on the host, where Slurm has given them to this
    process; else the numbers or names in CUDA_VISIBLE_DEVICES.
    """
    visible = _listed("CUDA_VISIBLE_DEVICES")
    if uuids := _query(pynvml.nvmlDeviceGetUUID):
        if visible is None:
            return uuids
        # CUDA ignores what follows a number that it does not have, -1 among them.
        by_number = {str(number): uuid for number, uuid in enumerate(uuids)}
        return [by_number.get(entry, entry) for entry in visible]
    # Before CUDA's variable: those are numbers on the host, also where a control group hides the others.
    return _listed("SLURM_STEP_GPUS") or visible or []


def tpu_is_attached() -> bool:
    """Return whether the kernel has a TPU: /dev/accel0 and so on up to v4, /dev/vfio/0 and so on from v5e."""
    return any(Path("/dev").glob("accel[0-9]*")) or any(Path("/dev/vfio").glob("[0-9]*"))


def _listed(variable: str) -> list[str] | None:
    value = os.environ.get(variable)
    return None if value is None else [entry.strip() for entry in value.split(",") if entry.strip()]


def _query(read: Callable[[Any], Any]) -> list[Any] | None:
    """The answer of each accelerator; None without any, and where one lacks the sensor."""
    try:
        return [read(handle) for handle in _handles()] or None
    except pynvml.NVMLError:
        return None


@cache
def _handles() -> list[Any]:
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        return [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
    except pynvml.NVMLError:  # no library, no driver, or no access
        return []
