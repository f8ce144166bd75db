"""The one training loop: what must be the same for every backend is written here, once."""

import math
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base.engine_reports import Metrics
from paragone.base.errors import Unavailable, UserError
from paragone.base.ranks import ALONE, World
from paragone.config.run_spec import Spec, requested
from paragone.data import Dataset
from paragone.data.batches import (
    evaluation_batches,
    loader_of,
    noise_batches,
    train_batches,
    train_examples,
)
from paragone.data.random_streams import framework_seed
from paragone.engines import Engine
from paragone.machine import process_entry
from paragone.machine.activity import HostWatch, Watch
from paragone.models.weights import Pretrained, digest, parameter_count, starting
from paragone.parity import first_steps
from paragone.records.outcome import Outcome
from paragone.records.run_metrics import DIVERGED
from paragone.training.checkpoints import Checkpoints
from paragone.training.clocks import Ledger
from paragone.training.failures import failure_of
from paragone.training.progress import Progress
from paragone.training.results import SAMPLES
from paragone.training.speed_window import SpeedWindow


def train(
    engine: Engine,
    spec: Spec,
    dataset: Dataset,
    threads: int,
    ledger: Ledger,
    checkpoints: Checkpoints,
    processes: list[dict[str, Any]],
    host: HostWatch,
    world: World = ALONE,
    pretrained: Pretrained | None = None,
    speed_window: SpeedWindow | None = None,
    expected_steps: Path | None = None,
) -> Outcome:
    """Train one run to its end, from its last checkpoint if there is one.

    Statuses other than `completed` are results, not errors: `diverged` when a training loss is above
    `DIVERGED` or not finite, `out_of_memory`, `unsupported`. Raises `Unavailable` if the devices are not
    there, `UserError` if the workload does not fit the data set or the pretrained weights, or the devices are
    others than asked for. `processes`: the entries of this start, one a rank; every rank runs this loop.
    `host`: what fills in the `epochs` and `window` of the own entry.
    """
    outcome, process = Outcome(processes), processes[world.rank]
    steps = spec.steps(train_examples(dataset, spec))
    progress = Progress(spec, steps, quiet=world.rank > 0)
    ledger.switch("devices")
    try:
        engine.build(spec, dataset, threads, world)
        if engine.devices != requested(spec):
            raise UserError(f"{requested(spec)} asked for, but {engine.devices} observed")
        ledger.switch("data")
        loader_of(dataset, spec)  # what it prepares is no part of an epoch
        ledger.switch("devices")
        weights, initializer = starting(engine.weights(), spec, pretrained)
        engine.set_weights(weights)
        outcome.model = {
            "parameters": parameter_count(weights),
            "initializer": initializer,
            "initial_weights": digest(weights),
            "final_weights": None,
        }
        process["modes"] = asdict(engine.modes())
        ledger.switch("compilation")
        engine.warm_up(spec.learning_rate(1), *noise_batches(dataset, spec, engine.shard))
        if expected_steps:
            ledger.switch("window")
            outcome.first_steps = _first_steps(engine, spec, dataset, expected_steps)
        engine.reset_peak_memory()  # warm-up and first steps held a copy of the state
        ledger.switch("checkpoint")
        if saved := checkpoints.last():
            engine.load(saved.folder)
            ledger.add(saved.progress["seconds"])
            outcome.epochs = saved.progress["epochs"]
            outcome.processes = [*saved.progress["processes"], *processes]
            for one in processes:
                one["first_epoch"] = saved.epoch + 1
            progress.say(f"resumed after epoch {saved.epoch}")
        watch = partial(host.window, process["epochs"])
        for row in _epochs(engine, spec, dataset, steps, ledger, watch, progress, outcome):
            outcome.epochs.append(row)
            progress.epoch_done(row)
            if not row["train_loss"] <= DIVERGED:
                outcome.status = "diverged"
                outcome.reason = _divergence(row)
                break
            if stops(spec.workload.get("target"), outcome.epochs):
                break
            if row["epoch"] < spec.epochs:
                ledger.switch("checkpoint")
                process_entry.mark_end(process, ledger.mark)
                checkpoints.save(row["epoch"], engine.save, _progress(outcome, ledger))
        outcome.peak_device_bytes = engine.peak_device_memory()
        if speed_window and outcome.status == "completed":
            ledger.switch("window")
            last = outcome.epochs[-1]
            watch = partial(host.window, process["window"])
            outcome.window = speed_window.measure(engine, spec, dataset, last, ledger, watch)
            progress.window_done(outcome.window)
        ledger.switch("other")
        outcome.model["final_weights"] = digest(engine.weights())
        # A copy: PyTorch warns of arrays that cannot be written to.
        outcome.probabilities = engine.predict(np.array(dataset.test_inputs[:SAMPLES]))
        outcome.flop = engine.count_flop(spec, dataset)
    except Unavailable:
        raise
    except Exception as error:
        if outcome.peak_device_bytes is None and hasattr(engine, "devices"):
            outcome.peak_device_bytes = engine.peak_device_memory()
        if (failure := failure_of(engine, error)) is None:
            raise
        outcome.status, outcome.reason = failure
    return outcome


def _first_steps(engine: Engine, spec: Spec, dataset: Dataset, expected: Path) -> dict[str, Any]:
    """The parity gate's verdict on the first steps; the engine's state is unchanged."""
    before = engine.snapshot()
    found = first_steps.compared(
        expected, lambda steps: first_steps.take(engine, spec, dataset, steps), spec.precision
    )
    engine.restore(before)
    return found


def _divergence(row: dict[str, Any]) -> str:
    loss, begin = row["train_loss"], f"the training loss of epoch {row['epoch']} is"
    return f"{begin} {loss:.3g}" if math.isfinite(loss) else f"{begin} not finite"


def _progress(outcome: Outcome, ledger: Ledger) -> dict[str, Any]:
    return {
        "epochs": outcome.epochs,
        "processes": outcome.processes,
        "seconds": ledger.seconds,
    }


def _epochs(
    engine: Engine,
    spec: Spec,
    dataset: Dataset,
    steps: int,
    ledger: Ledger,
    watch: Watch,
    progress: Progress,
    outcome: Outcome,
) -> Iterator[dict[str, Any]]:
    """Train and evaluate epoch by epoch; the device is idle at both edges of every window."""
    tests = math.ceil(len(dataset.test_labels) / spec.evaluation_batch)
    for epoch in range(len(outcome.epochs) + 1, spec.epochs + 1):
        rate = spec.learning_rate(epoch)
        batches = progress.watch(epoch, train_batches(dataset, spec, epoch, engine.shard))
        with watch():
            ledger.switch("train")
            during = engine.train_epoch(framework_seed(spec.seed, epoch), rate, batches, steps)
            train_seconds = ledger.switch("other")
        input_seconds = engine.input_seconds()  # of this pass, not of the evaluation
        ledger.switch("evaluate")
        after = engine.evaluate(evaluation_batches(dataset, spec, engine.shard), tests)
        evaluate_seconds = ledger.switch("other")
        yield {
            "epoch": epoch,
            "learning_rate": rate,
            "steps": steps,
            "train_seconds": train_seconds,
            "input_seconds": input_seconds,
            **_named("train", during),
            "evaluate_seconds": evaluate_seconds,
            **_named("test", after),
        }


def _named(split: str, metrics: Metrics) -> dict[str, float]:
    return {f"{split}_{name}": value for name, value in asdict(metrics).items()}


def stops(target: dict[str, Any] | None, epochs: list[dict[str, Any]]) -> bool:
    """Whether the last `patience` evaluations are at or above a target that ends the run."""
    if not target or not target["stop"]:
        return False
    last = epochs[-target["patience"] :]
    return len(last) == target["patience"] and all(
        row["test_accuracy"] >= target["accuracy"] for row in last
    )
