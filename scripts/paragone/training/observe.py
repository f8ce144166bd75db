"""The parity gate's observation of a backend: one pass, and a short run through the training loop.

The run has three epochs of a few steps. Around them is all that surrounds those of any run: a warm-up, first
steps, checkpoints, and a second start that resumes at the last epoch. None of it may change what is learned.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict, replace

from paragone import data, engines
from paragone.base import plugins
from paragone.base.atomic_files import writing
from paragone.base.engine_reports import Metrics
from paragone.base.errors import Unavailable, UserError, first_sentence
from paragone.config.engines import REFERENCE, least_input
from paragone.config.run_spec import Spec, Workload
from paragone.config.schedules import LearningRate
from paragone.data.batches import train_batches
from paragone.engines import Probe
from paragone.machine import process_entry
from paragone.machine.activity import HostWatch
from paragone.models.look import look
from paragone.models.weights import FROZEN, Pretrained, Weights, parameter_count
from paragone.parity import definition, reference
from paragone.parity.compare import FLOORS, Observation, deviations, largest, of_arrays, of_metrics
from paragone.parity.first_steps import GROUPS
from paragone.records.run_record import Process, RunRecord
from paragone.training.checkpoints import Checkpoints
from paragone.training.loop import Ledger, TrainingRun, train

_entry = cache(process_entry.at_start)
LEAST = 2  # examples of a replica in a step of the gate: batch norm needs two


def observe(spec: Spec, dataset: data.Dataset, pretrained: Pretrained | None = None) -> Weights:
    """Return the arrays of a `compare.Observation` by the names `logits`, `gradients/...`, `weights/...`.

    If the backend cannot run here, or not this workload, the only array is `unavailable`, the reason. Raises
    `UserError` for a data set of too few examples.
    """
    spec, dataset = fitted(spec, dataset)
    try:
        return _observe(spec, dataset, pretrained)
    except Unavailable as error:
        return {"unavailable": np.array(str(error))}
    except Exception as error:
        if not engines.create(spec).unsupported(error):
            raise
        return {"unavailable": np.array(first_sentence(error))}


def fitted(spec: Spec, dataset: data.Dataset) -> tuple[Spec, data.Dataset]:
    """Return the specification of the gate's run and its data, the first examples.

    In each split a part of a batch is left over. The batch is smaller where the data set has fewer examples.
    Images are as small as a model of any size takes them. Raises `UserError` for too few of any batch.
    """
    steps, replicas = spec.steps_per_epoch or 1, spec.replicas
    train, held = spec.split(len(dataset.train_labels))
    test = len(dataset.test_labels)
    size = min(spec.global_batch, train // steps, test) // replicas * replicas
    if size < LEAST * replicas:
        raise UserError(
            f"data set {dataset.name} has {train} training and {test} test examples; the parity gate needs "
            f"{LEAST * replicas * steps} and {LEAST * replicas}"
        )
    half = size // 2 // replicas * replicas
    part = half if half >= LEAST * replicas else 0
    held = min(held, size + part)
    examples = min(train, steps * size + part) + held
    limited = spec.workload.train_examples is not None  # then there are more, which must not show
    few = data.few(dataset, examples + limited * size, min(test, size + part))
    declared = least_input(spec.workload.model_name)
    if declared and declared.any_size:  # double precision takes long
        few = data.thinned(few, *declared.least)
    workload = _within(spec.workload, size + part // 2, held)
    spec = replace(
        spec,
        global_batch=size,
        per_replica_batch=size // replicas,
        least_evaluation_batch=size,
        workload=replace(workload, train_examples=examples if limited else None),
        steps_per_epoch=None,
    )
    return spec, few


def _within(workload: Workload, examples: int, held: int) -> Workload:
    evaluation, validation = workload.evaluation, workload.validation
    if validation:  # a share of few examples is another number
        said = {key: held for key, value in asdict(validation).items() if value}
        validation = replace(validation, **said)
    if evaluation and evaluation.first:
        evaluation = replace(evaluation, first=min(evaluation.first, examples))
    if evaluation and evaluation.random_batches:
        evaluation = replace(evaluation, random_batches=min(evaluation.random_batches, 2))
    buffer = workload.shuffle_buffer and min(workload.shuffle_buffer, examples)
    return replace(workload, evaluation=evaluation, validation=validation, shuffle_buffer=buffer)


def _observe(spec: Spec, dataset: data.Dataset, pretrained: Pretrained | None) -> Weights:
    if spec.backend.name == REFERENCE:
        double = reference.observed(spec, dataset, pretrained)
        single = reference.observed(replace(spec, precision="float32"), dataset, pretrained)
        by_group = largest(deviations(Observation.of(single), Observation.of(double)))
        return double | {f"rounding/{group}": np.array(by_group[group]) for group in by_group}
    with tempfile.TemporaryDirectory() as folder:
        plain = _Subject(spec, dataset, pretrained, Path(folder, "plain"))
        plain.drop_nothing()
        arrays = plain.trained()
        if plain.has_dropout:
            # At a rate of 0 losses depend on batches and draws alone.
            workload = replace(spec.workload, learning_rate=LearningRate(base=0))
            still = replace(spec, workload=workload, epochs=2)
            dropping = _Subject(still, dataset, pretrained, Path(folder, "dropping"))
            arrays |= dropping.dropped(arrays, plain)
    return arrays


class _Subject:
    """An engine on one thread in the training loop; its files are in a folder.

    `start`: the initial weights. `evaluated`: those of the last evaluation. `has_dropout`: whether
    `drop_nothing` had an effect.
    """

    def __init__(
        self, spec: Spec, dataset: data.Dataset, pretrained: Pretrained | None, folder: Path
    ) -> None:
        self.spec, self.dataset = spec, dataset
        self.engine: Any = engines.create(spec)
        self.start: Weights = {}
        self.evaluated: Weights = {}
        self.has_dropout = False
        self.notices: list[str] = []
        folder.mkdir()
        self._negate_in_the_end(folder)
        process = Process(
            **asdict(_entry()), rank=0, variables={}, manifest_sha256=dataset.manifest_sha256
        )
        self._run = TrainingRun(
            engine=self.engine,
            spec=spec,
            dataset=dataset,
            threads=1,
            ledger=Ledger(),
            processes=[process],
            host=HostWatch([os.getpid()]),
            pretrained=pretrained,
            expected_steps=_one_step(folder, len(spec.workload.task.scores)),
            checkpoints=Checkpoints(folder / "checkpoints", spec.sha256),
        )

    def _negate_in_the_end(self, folder: Path) -> None:
        """Evaluate negated weights after the last checkpoint, in the last epoch, as the reference does."""
        engine = self.engine
        last = f"checkpoints/*/epoch-{self.spec.epochs - 1:04d}"

        def evaluate_negated(batches: Iterable[tuple], steps: int) -> Metrics:
            evaluate = type(engine).evaluate
            if not [*folder.glob(last)]:
                return evaluate(engine, batches, steps)
            reference.negate(engine)
            metrics = evaluate(engine, batches, steps)
            reference.negate(engine)
            return metrics

        engine.evaluate = evaluate_negated

    def drop_nothing(self) -> None:
        """Let the engine be built without dropout, and its model be looked at."""
        build = self.engine.build

        def build_and_look(*arguments: Any) -> None:
            build(*arguments)
            self.has_dropout = self.engine.dropout_off()
            begun = engines.begin(self.engine, self.spec, self._run.pretrained)
            self.start, _, self.notices = begun
            self.notices += look(self.engine, self.spec, self.dataset)
            if update := getattr(self.engine, "update", ""):
                self.notices.append(f"the framework's own optimizer defines the update: {update}")
            if rates := engines.schedule_call(self.spec):
                self.notices.append(f"the framework's own schedule defines the rates: {rates}")

        self.engine.build = build_and_look

    def _train(self) -> RunRecord:
        # Nobody looks at these predictions.
        self.engine.predict = lambda inputs: np.zeros((len(inputs), 1), np.float32)
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            record = train(self._run).record
        if record.status in ("unavailable", "unsupported"):
            raise Unavailable(str(record.reason))
        if record.status == "out_of_memory":
            raise MemoryError(record.reason)
        return record

    def trained(self) -> Weights:
        """Train to the end, once more from the last checkpoint, then take one pass on the initial weights."""
        engine, spec = self.engine, self.spec
        record = self._train()
        weights = engine.weights()
        self.evaluated = weights
        batches = train_batches(self.dataset, spec, 1, engine.shard, reference.LONGER)
        longer = reference.trained_on(engine, spec, batches)
        moved = engine.weights()
        engine.build = lambda *_: None  # it is built
        rerun = self._train()
        evaluated = spec.workload.evaluated
        changes = {name: values - self.start[name] for name, values in weights.items()}
        resumed = {
            "weights": of_arrays(engine.weights(), weights, changes, FLOORS[spec.precision]),
            "metrics": of_metrics(
                _metrics(rerun, "train", *evaluated),
                _metrics(record, "train", *evaluated),
                counted=not spec.workload.task.numeric,
            ),
        }
        engine.set_weights(self.start)
        probe = engine.probe(next(definition.batches(spec, self.dataset, 1)))
        return {
            "precision": np.array(spec.precision),
            "parameters": np.array(parameter_count(self.start)),
            "counted": np.array(not spec.workload.task.numeric),
            "logits": probe.logits,
            "loss": np.array(probe.loss),
            "training": np.array([*_metrics(record, "train"), longer]),
            "evaluation": _metrics(record, *evaluated),
            "resumed": np.max([*largest(resumed).values()]),
            "keeps_unbiased": np.array(probe.unbiased),
            "notices": np.array(
                [*plugins.NOTICES, *self.notices, *_unlearned(probe, self.start)], np.str_
            ),
            **{f"gradients/{name}": values for name, values in probe.gradients.items()},
            **{f"weights/{name}": values for name, values in moved.items()},
            **{f"paths/{name}": np.array(layout.path) for name, _, layout in engine.entries()},
        }

    def dropped(self, arrays: Weights, plain: "_Subject") -> Weights:
        """Repeat the last evaluation with dropout; return what depends on no framework's draws.

        `arrays`: those of the run without dropout, `plain`.
        """
        looped = _metrics(self._train(), "train")[:, 0]
        engine = self.engine
        engine.set_weights(plain.evaluated)
        tested = [*definition.tests(self.spec, self.dataset, plain.spec.epochs, "test")]
        repeated = engine.evaluate(tested, len(tested))
        row = [[repeated.loss, *repeated.scores]]
        return {
            "evaluation": np.concatenate([arrays["evaluation"], row]),
            "dropout/looped": looped,
            **reference.dropped(engine, self.spec, self.dataset, plain.start, arrays["logits"]),
        }


def _unlearned(probe: Probe, start: Weights) -> Iterator[str]:
    frozen = {name for name in start if name.endswith(FROZEN)}
    idle = {name for name, values in probe.gradients.items() if not values.any()}
    for group, names in (("frozen", frozen), ("of no effect on the outputs", idle)):
        if names:
            size = sum(start[name].size for name in names)
            yield f"{size} parameters are {group}, {sorted(names)[0]} is one of {len(names)} arrays"


def _metrics(record: RunRecord, *splits: str) -> np.ndarray:
    """Return a row for each split and epoch of the loss and the scores, NaN where they are not finite."""
    rows, names = [*map(asdict, record.epochs)], ("loss", *record.spec.workload.task.scores)
    values = [[row[f"{split}_{name}"] for name in names] for split in splits for row in rows]
    return np.array(values, np.float64)


def _one_step(folder: Path, scores: int) -> Path:
    """Return a file of first steps that lets a run take one; its effect is compared in the end."""
    path = folder / "first_steps.npz"
    write(
        {
            "steps": np.array(1),
            "examples": np.array(1),
            "counted": np.array(True),
            "training": np.ones((1, 1 + scores)),
            **{f"rounding/{group}": np.array(0.0) for group in (*GROUPS, "training")},
        },
        path,
    )
    return path


def write(arrays: Weights, path: Path) -> None:
    """Write the arrays of a probe as .npz, atomically."""
    with writing(path, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
