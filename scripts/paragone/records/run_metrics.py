"""What follows from the measurements of a run: divergence, the speed of its epochs, times."""

import math
from itertools import accumulate

from msgspec.structs import asdict

from paragone.base.clock_names import PARTS
from paragone.base.typed_json import Part
from paragone.records.run_record import Epoch, RunRecord
from paragone.tasks import Task

# Nats per training example. A probability of 1e-46, which no float32 can represent, costs 106. Of numeric
# targets, multiples of their variance.
DIVERGED = 1e6


class Target(Part, frozen=True):
    """Time to target on the train clock, in seconds: the interval (last_miss, first_hit].

    `metric`: of the evaluations, by the name of `tasks.METRICS`; `value`: the one to reach.
    """

    metric: str
    value: float
    patience: int
    reached: bool
    epoch: int | None
    last_miss: float | None
    first_hit: float | None


def metrics(
    task: Task, epoch: Epoch, split: str, variance: float | None
) -> dict[str, float | None]:
    """The metrics of an epoch by name, of "train" or "test"; `variance`: of numeric targets of that split."""
    loss, score = (getattr(epoch, f"{split}_{name}") for name in ("loss", task.score))
    return task.metrics(loss, score, variance)


def variances(record: RunRecord) -> dict[str, float | None]:
    """The variance of the targets of each split; None for classes."""
    found = {split: getattr(record.data, f"{split}_variance", None) for split in ("train", "test")}
    return {split: value or None for split, value in found.items()}


def outcomes(record: RunRecord, epoch: Epoch) -> dict[str, float | None]:
    """All metrics of an epoch, by split and name: "train_loss", "test_accuracy"."""
    return {
        f"{split}_{name}": value
        for split, variance in variances(record).items()
        for name, value in metrics(record.spec.workload.task, epoch, split, variance).items()
    }


def diverged(record: RunRecord, loss: float) -> bool:
    """Return whether a training loss is above `DIVERGED`, or not finite."""
    return not loss <= DIVERGED * (variances(record)["train"] or 1.0)


def time_to_target(record: RunRecord) -> Target | None:
    """Time to the target of the workload; None if it has none."""
    workload, epochs = record.spec.workload, record.epochs
    if (target := workload.target) is None:
        return None
    metric, value, patience = target.metric, target.value, target.patience
    variance = variances(record)["test"]
    found = [metrics(workload.task, epoch, "test", variance)[metric] for epoch in epochs]
    hits = [target.reached_by(each) for each in found]
    starts = (at for at in range(len(hits) - patience + 1) if all(hits[at : at + patience]))
    first = next(starts, None)
    if first is None:
        return Target(metric, value, patience, False, epoch=None, last_miss=None, first_hit=None)
    times = [0.0, *elapsed(record)]
    return Target(metric, value, patience, True, epochs[first].epoch, *times[first : first + 2])


def elapsed(record: RunRecord) -> list[float]:
    """Training seconds up to and including each epoch."""
    return list(accumulate(epoch.train_seconds for epoch in record.epochs))


def examples(record: RunRecord, epoch: Epoch) -> int:
    """Training examples of an epoch, over all replicas."""
    whole = record.spec.examples_of(epoch.steps)
    return min(whole, record.data.train_examples) if record.data else whole


def first_of_process(record: RunRecord, epoch: Epoch) -> bool:
    """Whether a process began with this epoch."""
    return any(process.first_epoch == epoch.epoch for process in record.processes)


def parts(record: RunRecord) -> dict[str, float] | None:
    """Seconds by part of `clock_names.PARTS`; None where there are no clocks."""
    if record.clocks is None:
        return None
    known = {**asdict(record.clocks.cold), **asdict(record.clocks)}
    for part in ("train", "evaluate"):
        known[part] = math.fsum(getattr(epoch, f"{part}_seconds") for epoch in record.epochs)
    return {part: known[part] for part in PARTS}


def end_to_end(record: RunRecord) -> float | None:
    """Seconds from start to end of the run's processes, by the kernel's clock; None if one is not known.

    Of several starts the sum; of several ranks the first, which writes the record.
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
    for activity in (one for process in record.processes for one in process.epochs):
        if activity.accelerator_joules is None:
            return None
        drawn += activity.accelerator_joules
    trained = sum(examples(record, epoch) for epoch in record.epochs)
    return drawn / trained if trained and drawn else None


def input_share(epoch: Epoch) -> float | None:
    """Share, 0 to 1, of an epoch of training in which the thread that trains drew and copied batches."""
    if epoch.input_seconds is None:
        return None
    return epoch.input_seconds / epoch.train_seconds if epoch.train_seconds else None
