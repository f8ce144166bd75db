"""What follows from the measurements of a run: divergence, speed, times, energy, what others used."""

import math
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from msgspec.structs import asdict

from paragone.records.run_record import CLOCK_PARTS, Activity, Epoch, RunRecord

# Nats per training example. A probability of 1e-46, which no float32 can represent, costs 106. Of numeric
# targets, multiples of their variance.
DIVERGED = 1e6


def outcomes(record: RunRecord, epoch: Epoch) -> dict[str, float | None]:
    """Return all metrics of an epoch, by split and name: "train_loss", "test_accuracy"."""
    task, values = record.spec.workload.task, {}
    for split in ("train", *record.spec.workload.evaluated):
        variance = getattr(record.data, f"{split}_variance", None) or None  # of numbers alone
        loss, *scores = (getattr(epoch, f"{split}_{name}") for name in ("loss", *task.scores))
        for name, value in task.metrics(loss, scores, variance).items():
            values[f"{split}_{name}"] = value
    return values


def diverged(record: RunRecord, loss: float) -> bool:
    """Return whether a training loss is above `DIVERGED`, or not finite."""
    return not loss <= DIVERGED * (getattr(record.data, "train_variance", None) or 1.0)


def time_to_target(record: RunRecord) -> tuple[float, float] | None:
    """Return the time to the target on the train clock, in seconds: the interval (last miss, first hit].

    None where the run missed it, or its workload has none.
    """
    if (target := record.spec.workload.target) is None:
        return None
    values = (outcomes(record, epoch)[f"test_{target.metric}"] for epoch in record.epochs)
    hits = [*map(target.reached_by, values)]
    times = [0.0, *elapsed(record)]
    for at in range(len(hits) - target.patience + 1):
        if all(hits[at : at + target.patience]):
            return times[at], times[at + 1]
    return None


def elapsed(record: RunRecord) -> list[float]:
    """Return the training seconds up to and including each epoch."""
    return list(accumulate(epoch.train_seconds for epoch in record.epochs))


def examples(record: RunRecord, epoch: Epoch) -> int:
    """Return the number of training examples of an epoch, over all replicas."""
    whole = epoch.steps * record.spec.global_batch
    return min(whole, record.data.train_examples) if record.data else whole


def first_of_process(record: RunRecord, epoch: Epoch) -> bool:
    """Return whether a process began with this epoch."""
    return any(process.first_epoch == epoch.epoch for process in record.processes)


def parts(record: RunRecord) -> dict[str, float] | None:
    """Return the seconds of each of `CLOCK_PARTS`; None where there are no clocks."""
    if record.clocks is None:
        return None
    seconds = asdict(record.clocks)
    for part in ("train", "evaluate"):
        seconds[part] = math.fsum(getattr(epoch, f"{part}_seconds") for epoch in record.epochs)
    return {part: seconds[part] for part in CLOCK_PARTS}


def end_to_end(record: RunRecord) -> float | None:
    """Return the seconds from start to end of the run's processes, by the kernel's clock.

    Several starts are added; of several ranks the first counts, which writes the record. None if an age is
    not known.
    """
    ages = [process.age for process in record.processes if process.rank == 0]
    return None if None in ages else math.fsum(age for age in ages if age is not None)


def epochs_speed(record: RunRecord) -> float | None:
    """Return the training examples per second of the epochs after the first of each process.

    This is the speed of a run that no contest times. None where no process has trained a second epoch.
    """
    later = [epoch for epoch in record.epochs if not first_of_process(record, epoch)]
    seconds = math.fsum(epoch.train_seconds for epoch in later)
    return sum(examples(record, epoch) for epoch in later) / seconds if seconds else None


def joules_per_example(record: RunRecord) -> float | None:
    """Return the energy of all accelerators in the training epochs, over their examples.

    None where a host has no counter, or no epoch was trained.
    """
    drawn = 0.0
    for activity in (epoch for process in record.processes for epoch in process.epochs):
        if activity.accelerator_joules is None:
            return None
        drawn += activity.accelerator_joules
    trained = sum(examples(record, epoch) for epoch in record.epochs)
    return drawn / trained if trained and drawn else None


def other_cpu_share(windows: Iterable[Activity | None]) -> float | None:
    """Return the share, 0 to 1, of the CPU time of a host that the run could not have.

    Other processes used it, or other machines on the same hardware. The windows count together; None without
    any that is known.
    """
    lost = total = 0.0
    for window in filter(None, windows):
        lost += max(0.0, window.busy - window.run) + window.stolen
        total += window.busy + window.idle + window.stolen
    return lost / total if total else None


def is_disturbed(window: Activity, load: float) -> bool:
    """Return whether others had more than `load`, a share, of the host in a window; unknown is no."""
    return (other_cpu_share([window]) or 0.0) > load


def of_epoch(record: RunRecord, epoch: Epoch) -> list[Activity]:
    """Return what each host did in the training of an epoch."""
    return [
        process.epochs[epoch.epoch - process.first_epoch]
        for process in record.processes
        if 0 <= epoch.epoch - process.first_epoch < len(process.epochs)
    ]


def throttled(life: Activity | None) -> bool | None:
    """Return whether heat or a CPU quota held cores back; None if nothing reports it."""
    return combined(any, [life.heat_throttles, life.quota_throttled]) if life else None


def combined(combine: Callable[[list[Any]], Any], values: Iterable[Any]) -> Any:
    """Combine the values that are not None; return None if there are none."""
    present = [value for value in values if value is not None]
    return combine(present) if present else None
