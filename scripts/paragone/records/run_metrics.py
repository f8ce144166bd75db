"""What follows from the measurements of a run: divergence, steady throughput, times, FLOP/s."""

import math
from collections.abc import Sequence
from itertools import accumulate
from statistics import linear_regression

from msgspec.structs import asdict

from paragone.base.clock_names import PARTS
from paragone.base.typed_json import Part
from paragone.config.run_spec import Spec
from paragone.records.run_record import Epoch, RunRecord, Timed
from paragone.tasks import Task

# Nats per training example. A probability of 1e-46, which no float32 can represent, costs 106. Of numeric
# targets, multiples of their variance.
DIVERGED = 1e6
LEAST_STEPS = 20  # of a speed window; its least seconds are the limit of the rule `window`


class Steady(Part, frozen=True):
    """What a speed window measured: examples/s, and `constant_seconds` per epoch beside its steps.

    `constant_seconds`: None if all epochs have the same length, or are too short to fit both.
    """

    epochs: int
    steps: int
    examples: int
    seconds: float
    examples_per_second: float
    constant_seconds: float | None


def steady(window: Sequence[Timed], spec: Spec) -> Steady | None:
    """Throughput by least squares over the epochs of a speed window, which has whole batches only."""
    if not window:
        return None
    steps = [one.steps for one in window]
    seconds = [one.seconds for one in window]
    step, constant = math.fsum(seconds) / sum(steps), None
    if len(set(steps)) > 1:
        line = linear_regression(steps, seconds)
        if line.slope > 0:
            step, constant = line
    examples, rate = spec.examples_of(sum(steps)), spec.examples_of(1) / step
    return Steady(len(window), sum(steps), examples, math.fsum(seconds), rate, constant)


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


def input_share(epoch: Epoch) -> float | None:
    """Share, 0 to 1, of an epoch of training in which the thread that trains drew and copied batches."""
    if epoch.input_seconds is None:
        return None
    return epoch.input_seconds / epoch.train_seconds if epoch.train_seconds else None
