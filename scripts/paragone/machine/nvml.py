"""What NVIDIA's management library reports of a machine's accelerators; nothing where it is missing.

All accelerators that are visible to this process are counted, used by it or not.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import pynvml

# Reasons that slow a clock down against its will; an idle device and a user's own limit are none.
_SLOWDOWN = (
    pynvml.nvmlClocksThrottleReasonHwSlowdown
    | pynvml.nvmlClocksThrottleReasonSwThermalSlowdown
    | pynvml.nvmlClocksThrottleReasonHwThermalSlowdown
    | pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown
)


def names() -> list[str]:
    """The accelerators' names, in the library's order; none where there is no library."""
    return [_text(pynvml.nvmlDeviceGetName(handle)) for handle in _handles()]


def driver() -> str | None:
    """The driver's version; None where there is no accelerator."""
    return _text(pynvml.nvmlSystemGetDriverVersion()) if _handles() else None


def joules() -> float | None:
    """Energy that all accelerators drew since their driver was loaded; None where one does not report it."""
    drawn = _of_each(pynvml.nvmlDeviceGetTotalEnergyConsumption)
    return None if drawn is None else sum(drawn) / 1000  # in millijoules


def clocks() -> list[int] | None:
    """The clock of each accelerator's multiprocessors now, MHz."""
    return _of_each(lambda handle: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM))


def throttled() -> bool | None:
    """Whether heat or power holds an accelerator's clock down now."""
    reasons = _of_each(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons)
    return None if reasons is None else any(reason & _SLOWDOWN for reason in reasons)


def _of_each(read: Callable[[Any], Any]) -> list[Any] | None:
    try:
        return [read(handle) for handle in _handles()] or None
    except pynvml.NVMLError:  # this device has no such sensor
        return None


@cache
def _handles() -> list[Any]:
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        return [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
    except pynvml.NVMLError:  # no library, no driver, or no access
        return []


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
