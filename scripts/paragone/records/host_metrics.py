"""What follows from the activity of a host: the share of others, throttling."""

from collections.abc import Callable, Iterable
from typing import Any

from paragone.records.run_record import Activity, Epoch, Load, RunRecord


def other_cpu_share(windows: list[Activity]) -> float | None:
    """Share, 0 to 1, of the CPU time of a host that the run could not have: used by other processes, or
    stolen by other machines on the same hardware. Over all windows together; None without any."""
    lost = sum(max(0.0, one.busy - one.run) + one.stolen for one in windows)
    total = sum(one.busy + one.idle + one.stolen for one in windows)
    return lost / total if total else None


def share_of_others(load: Load) -> float | None:
    """Return `other_cpu_share` over the life of a process; None where it is not known."""
    return other_cpu_share([load.life]) if load.life else None


def of_epoch(record: RunRecord, epoch: Epoch) -> list[Activity]:
    """What each host did in the training of an epoch."""
    return [
        process.epochs[epoch.epoch - process.first_epoch]
        for process in record.processes
        if 0 <= epoch.epoch - process.first_epoch < len(process.epochs)
    ]


def throttled(load: Load) -> bool | None:
    """Whether heat or a CPU quota held cores back; None if nothing reports it."""
    if load.life is None:
        return None
    return known(any, [load.life.heat_throttles, load.life.quota_throttled])


def known(combine: Callable[[list[Any]], Any], values: Iterable[Any]) -> Any:
    """Combine the values that are known; None when none is."""
    found = [value for value in values if value is not None]
    return combine(found) if found else None
