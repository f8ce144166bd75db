"""What NVIDIA's management library reports of a machine's accelerators; nothing where it is missing.

All accelerators that are visible to this process are counted, used by it or not.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pynvml

# Heat and failing supplies; an idle device and a clock that a user has set are no reasons.
_SLOWDOWN = (
    pynvml.nvmlClocksThrottleReasonHwSlowdown
    | pynvml.nvmlClocksThrottleReasonSwThermalSlowdown
    | pynvml.nvmlClocksThrottleReasonHwThermalSlowdown
    | pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown
)


class State(NamedTuple):
    """The clock of an accelerator's multiprocessors, MHz, and whether its power limit, or heat or a failing
    supply, holds it down."""

    mhz: int
    power_capped: bool
    slowed: bool


def names() -> list[str]:
    """Return the accelerators' names, in the library's order; none where there is no library."""
    return [pynvml.nvmlDeviceGetName(handle) for handle in _handles()]


def driver() -> str | None:
    """Return the driver's version; None where there is no accelerator."""
    return pynvml.nvmlSystemGetDriverVersion() if _handles() else None


def joules() -> float | None:
    """Return the joules that all accelerators drew since their driver was loaded; None if one counts none."""
    drawn = _of_each(pynvml.nvmlDeviceGetTotalEnergyConsumption)
    return None if drawn is None else sum(drawn) / 1000  # in millijoules


def states() -> list[State] | None:
    """Return how each accelerator runs now; None where one of them does not say."""
    return _of_each(_state)


def power_limits() -> list[float] | None:
    """Return the power that each accelerator may draw, W: what its owner has set, or its usual limit."""
    limits = _of_each(pynvml.nvmlDeviceGetEnforcedPowerLimit)
    return None if limits is None else [limit / 1000 for limit in limits]  # in milliwatts


def uuids() -> list[str] | None:
    """Return the UUID of each accelerator, unique among hosts as its index is not; None without any."""
    return _of_each(pynvml.nvmlDeviceGetUUID)


def _state(handle: Any) -> State:
    reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    return State(
        mhz=pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
        power_capped=bool(reasons & pynvml.nvmlClocksThrottleReasonSwPowerCap),
        slowed=bool(reasons & _SLOWDOWN),
    )


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
