"""The one training loop: what must be the same for every backend is written here, once."""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from paragone.base.engine_reports import ALONE, Modes, World
from paragone.base.errors import Unavailable, UserError, first_sentence, says_memory_is_full
from paragone.base.typed_json import Part
from paragone.config.run_spec import Spec, requested
from paragone.data import Dataset
from paragone.data.batches import (
    batch_sizes,
    evaluated_rows,
    evaluation_batches,
    noise_batches,
    train_batches,
    train_examples,
)
from paragone.data.random_streams import framework_seed
from paragone.engines import Engine, begin, learning_rates, schedule_call
from paragone.machine import process_entry
from paragone.machine.activity import HostWatch
from paragone.machine.process_entry import age
from paragone.models.weights import Pretrained, digest, parameter_count
from paragone.parity import first_steps
from paragone.records.run_metrics import diverged, outcomes, time_to_target
from paragone.records.run_record import (
    CLOCK_PARTS,
    Activity,
    Epoch,
    FirstSteps,
    Process,
    RunRecord,
    TrainedModel,
)
from paragone.tasks import METRICS
from paragone.training.checkpoints import Checkpoints
from paragone.training.counts import Counts, Drawn
from paragone.training.results import SAMPLES, data_read

SILENCE = 10.0  # seconds without a line after which an unfinished epoch reports itself


class Ledger:
    """The clocks of a process: each second, from its start on, is charged to one part.

    `mark`: the last switch. The kernel measures the same process independently: see the rule `clock-sum`.
    """

    def __init__(self) -> None:
        now = time.perf_counter()
        self.mark = now - age(now)
        self._part = "imports"
        self.seconds = dict.fromkeys(CLOCK_PARTS, 0.0)

    def switch(self, part: str) -> float:
        """End the current window, begin one of `part`; return the length of the ended one, seconds."""
        now = time.perf_counter()
        window = now - self.mark
        self.seconds[self._part] += window
        self.mark, self._part = now, part
        return window


@dataclass(frozen=True, kw_only=True)
class Worker:
    """What one worker of a run or of a contest works with.

    `processes`: those of this start, one per rank. `threads`: how many the framework has. `host`: counts what
    this host does meanwhile. `expected_steps`: the file of the reference's first steps.
    """

    engine: Engine
    spec: Spec
    dataset: Dataset
    threads: int
    ledger: Ledger
    processes: list[Process]
    host: HostWatch
    world: World = ALONE
    pretrained: Pretrained | None = None
    expected_steps: Path | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingRun(Worker):
    """A worker that trains to the end, with its checkpoints."""

    checkpoints: Checkpoints


@dataclass
class Result:
    """What training has measured.

    `record`: has no clocks; its last processes are those of this start, of which this process trained from
    `first_epoch` on, in these `modes`, with this `activity` of its host by epoch. `probabilities`: those of
    the first test examples, (n, classes). `peak_device_bytes`: the peak in the epochs.
    """

    record: RunRecord
    first_epoch: int = 1
    modes: Modes | None = None
    activity: list[Activity] = field(default_factory=list)
    probabilities: np.ndarray | None = None
    peak_device_bytes: int | None = None


class RunState(Part, frozen=True):
    """What a checkpoint keeps of a run; `seconds`: by part of `run_record.CLOCK_PARTS`, over all starts."""

    epochs: list[Epoch]
    processes: list[Process]
    seconds: dict[str, float]


class Progress:
    """Prints one line per epoch, and one every ten seconds inside a long epoch.

    A line is whole and names its run, so that several may interleave.
    `steps`, `examples`: numbers in an epoch. `quiet`: print nothing, as every rank but the first does.
    """

    def __init__(self, spec: Spec, steps: int, examples: int, *, quiet: bool = False) -> None:
        self._spec, self._steps, self._examples, self._quiet = spec, steps, examples, quiet
        self._epoch_seconds: list[float] = []
        self._last_line = time.perf_counter()

    def say(self, text: str) -> None:
        """Print one line."""
        self._last_line = time.perf_counter()
        spec = self._spec
        run = f"{spec.workload.name} {spec.backend.name} x{spec.replicas} seed {spec.seed}"
        if not self._quiet:
            print(f"[{run}] {text}", flush=True)

    def watch(self, epoch: int, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the batches and report how far the epoch is, without synchronizing any device."""
        begun = time.perf_counter()
        for step, batch in enumerate(batches):
            now = time.perf_counter()
            # Steps may be queued in no time after a long warm-up: a speed needs seconds of this epoch.
            if step and now - max(begun, self._last_line) > SILENCE:
                elapsed = now - begun
                left = elapsed / step * (self._steps * (self._spec.epochs - epoch + 1) - step)
                rate = self._examples * step / self._steps / elapsed
                self.say(
                    f"epoch {epoch}/{self._spec.epochs}, step {step}/{self._steps}: "
                    f"{rate:,.0f} examples/s, {timedelta(seconds=round(left))} left"
                )
            yield batch

    def epoch_done(self, row: Epoch, quality: float | None) -> None:
        """Report a finished epoch from its row in the record, and the quality of its evaluation."""
        seconds = row.train_seconds + row.evaluate_seconds
        self._epoch_seconds.append(seconds)
        recent = self._epoch_seconds[-3:]
        left = sum(recent) / len(recent) * (self._spec.epochs - row.epoch)
        metric = METRICS[self._spec.workload.task.quality_name].label
        self.say(
            f"epoch {row.epoch}/{self._spec.epochs}: "
            f"{self._examples / row.train_seconds:,.0f} examples/s, "
            f"test {metric} {math.nan if quality is None else quality:.4f}, "
            f"{timedelta(seconds=round(left))} left"
        )


def train(run: TrainingRun) -> Result:
    """Train one run to its end, from its last checkpoint if there is one.

    Statuses other than `completed` are results, not errors: `diverged` when a training loss is above
    `DIVERGED` or not finite, `out_of_memory`, `unsupported`, and `unavailable` if the devices are not there.
    Raises `UserError` if the workload does not fit the data set or the pretrained weights, or the devices are
    others than asked for.
    """
    data = data_read(run.dataset, run.spec)
    record = RunRecord(run=run.spec.name, spec=run.spec, processes=run.processes, data=data)
    result = Result(record)
    try:
        _train(run, result)
    except Exception as error:
        if (failure := failure_of(run.engine, error)) is None:
            raise
        record.status, record.reason = failure
        if record.status == "unavailable":
            return result
        if result.peak_device_bytes is None and hasattr(run.engine, "devices"):
            with suppress(Exception):  # report the first error, not this one
                result.peak_device_bytes = run.engine.peak_device_memory()
    earlier = record.processes[: -len(run.processes)]
    record.processes = [*earlier, *_processes(run, result)]
    return result


def failure_of(engine: Engine, error: Exception) -> tuple[str, str] | None:
    """Return status and reason of an error that is a result; None for any other.

    Results are absent devices, a full memory, and an operation without the kernel that the run needs.
    """
    if isinstance(error, Unavailable):
        return "unavailable", str(error)
    if isinstance(error, MemoryError) or engine.out_of_memory(error):
        lines = [line.strip() for line in str(error).splitlines()]
        naming = (line for line in lines if "alloc" in line.lower() or says_memory_is_full(line))
        return "out_of_memory", next(naming, "the host's memory is full")
    return ("unsupported", first_sentence(error)) if engine.unsupported(error) else None


def _train(run: TrainingRun, result: Result) -> None:
    engine, spec, dataset, ledger = run.engine, run.spec, run.dataset, run.ledger
    record = result.record
    examples, task = train_examples(dataset, spec), spec.workload.task
    steps = spec.steps(examples)
    progress = Progress(spec, steps, spec.epoch_examples(examples), quiet=run.world.rank > 0)
    model, result.modes = build(run)
    record.model = model
    record.first_steps = warm_up(run)
    engine.reset_peak_memory()  # warm-up and first steps held a copy of the state
    ledger.switch("checkpoint")
    if saved := run.checkpoints.last(RunState):
        engine.load(saved.folder)
        for part, seconds in saved.progress.seconds.items():
            ledger.seconds[part] += seconds
        record.epochs = saved.progress.epochs
        record.processes = [*saved.progress.processes, *run.processes]
        result.first_epoch = saved.epoch + 1
        progress.say(f"resumed after epoch {saved.epoch}")
    earlier = record.processes[: -len(run.processes)]
    for epoch, loss in _epochs(run, steps, progress, len(record.epochs), result.activity):
        record.epochs.append(epoch)
        progress.epoch_done(epoch, outcomes(record, epoch)[f"test_{task.quality_name}"])
        if diverged(record, loss):
            shown = f"{loss:.3g}" if math.isfinite(loss) else "not finite"
            record.status = "diverged"
            record.reason = f"the training loss of epoch {epoch.epoch} is {shown}"
            break
        target = spec.workload.target
        if target and target.stop and time_to_target(record):
            break
        if epoch.epoch < spec.epochs:
            ledger.switch("checkpoint")
            ranks, rank = _processes(run, result), run.world.rank
            ranks[rank] = process_entry.ending(ranks[rank], ledger.mark)
            state = RunState(record.epochs, [*earlier, *ranks], ledger.seconds)
            run.checkpoints.save(epoch.epoch, engine.save, state)
    result.peak_device_bytes = engine.peak_device_memory()
    ledger.switch("other")
    record.model = replace(model, final_weights=digest(engine.weights()))
    if dataset.class_names and dataset.test_labels.ndim == 1:
        # A copy: PyTorch warns of arrays that cannot be written to.
        result.probabilities = engine.predict(np.array(dataset.test_inputs[:SAMPLES]))


def build(worker: Worker) -> tuple[TrainedModel, Modes]:
    """Build the engine and give it the initial weights; return the model, and the modes in force.

    Raises as `train` does.
    """
    engine, spec, ledger = worker.engine, worker.spec, worker.ledger
    ledger.switch("devices")
    engine.build(spec, worker.dataset, worker.threads, worker.world)
    if engine.devices != requested(spec):
        raise UserError(f"{requested(spec)} asked for, but {engine.devices} observed")
    weights, initializer, _ = begin(engine, spec, worker.pretrained)
    update = getattr(engine, "update", "") or UNSET
    begun = parameter_count(weights), initializer, digest(weights)
    model = TrainedModel(*begun, None, update, schedule_call(spec) or UNSET)
    return model, engine.modes()


def warm_up(worker: Worker) -> FirstSteps | None:
    """Compile, and judge the first steps if the reference has taken them; keep the engine's state."""
    engine, spec, ledger = worker.engine, worker.spec, worker.ledger
    ledger.switch("compilation")
    for size in batch_sizes(worker.dataset, spec):
        noise = noise_batches(worker.dataset, spec, engine.shard, size)
        engine.warm_up(learning_rates(spec, 1, 1)[0], *noise)
    if worker.expected_steps is None:
        return None
    ledger.switch("first_steps")
    before = engine.snapshot()
    verdict = first_steps.compared(
        worker.expected_steps,
        lambda steps: first_steps.take(engine, spec, worker.dataset, steps),
        spec.precision,
    )
    engine.restore(before)
    return verdict


def _processes(run: TrainingRun, result: Result) -> list[Process]:
    ranks = [replace(process, first_epoch=result.first_epoch) for process in run.processes]
    rank = run.world.rank
    ranks[rank] = replace(ranks[rank], modes=result.modes, epochs=[*result.activity])
    return ranks


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _epochs(
    run: TrainingRun, steps: int, progress: Progress, done: int, activity: list[Activity]
) -> Iterator[tuple[Epoch, float]]:
    """Train and evaluate the epochs after the first `done`; yield each with its training loss, finite or not.

    The device is idle at both edges of every timed part. What the host did is added to `activity`.
    """
    engine, spec, dataset, ledger = run.engine, run.spec, run.dataset, run.ledger
    splits, names = spec.workload.evaluated, spec.workload.task.scores
    rows = (evaluated_rows(dataset, spec, split) for split in splits)
    tests = [math.ceil(len(examples) / spec.evaluation_batch) for examples in rows]
    for epoch in range(done + 1, spec.epochs + 1):
        rates = learning_rates(spec, epoch, steps)
        counts = Counts(engine, spec, dataset, epoch)
        drawn = counts.over(train_batches(dataset, spec, epoch, engine.shard))
        batches = progress.watch(epoch, drawn)
        tested = [Drawn(engine.shard, spec.evaluation_batch) for _ in splits]
        mark = run.host.mark()
        ledger.switch("train")
        training = engine.train_epoch(framework_seed(spec.seed, epoch), rates, batches, steps)
        train_seconds = ledger.switch("other")
        activity += run.host.since(mark)
        ledger.switch("evaluate")
        evaluations = []
        for split, drawing, number in zip(splits, tested, tests, strict=True):
            of_split = evaluation_batches(dataset, spec, engine.shard, epoch, split)
            evaluations.append(engine.evaluate(drawing.over(of_split), number))
        evaluate_seconds = ledger.switch("other")
        scores: dict[str, Any] = {}
        for split, metrics in zip(("train", *splits), (training, *evaluations), strict=True):
            for name, score in zip(names, metrics.scores, strict=True):
                scores[f"{split}_{name}"] = _finite(score)
        for split, drawing, evaluation in zip(splits, tested, evaluations, strict=True):
            scores |= {
                f"{split}_loss": _finite(evaluation.loss),
                f"{split}_examples": float(evaluation.examples),
                f"{split}_labels": drawing.digest,
            }
        measured = Epoch(
            epoch=epoch,
            learning_rate=rates[0],
            steps=counts.steps,
            train_seconds=train_seconds,
            train_loss=_finite(training.loss),
            **scores,
            evaluate_seconds=evaluate_seconds,
            updates=counts.updates,
            batches=counts.batches,
            order=counts.digest,
            train_examples=float(training.examples),
        )
        yield measured, training.loss
