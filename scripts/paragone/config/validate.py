"""The config is checked before anything runs, and decoded: unknown keys and impossible values are errors."""

import re
from typing import Any, Protocol

import msgspec

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.base.typed_json import ABSENT
from paragone.config import environments
from paragone.config.dataset_keys import FORMS, DatasetBlock
from paragone.config.datasets import MEASURED, STREAM, TFDS, block_of
from paragone.config.decode import decoded
from paragone.config.engines import check_backend, framework_of
from paragone.config.expand import known_name
from paragone.config.key_types import Word
from paragone.config.optimizer_keys import OPTIMIZERS, Optimizer
from paragone.config.run_spec import MODEL
from paragone.config.schedules import OWN, Schedule, defining
from paragone.config.schema import BackendBlock, Config, Experiment, WorkloadBlock
from paragone.tasks import CLASSIFICATION, METRICS, Task


class Blocks(Protocol):
    """What a config and the file of a paper both have, by name."""

    datasets: dict[str, dict[str, Any]]
    workloads: dict[str, WorkloadBlock]
    experiments: dict[str, Experiment]


def validate(config: dict[str, Any]) -> Config:
    """Return the config as its type. Raises `UserError` with the key, what is wrong, and the remedy."""
    valid: Config = decoded(config, Config)
    check_blocks(valid)
    _set_initializers(valid)
    known_name(valid.experiments, valid.primary.experiment, "primary.experiment")
    known_name(valid.backends, valid.baseline, "baseline")
    measured = {f"{split}_{name}": name for split in MEASURED for name in METRICS}
    for metric in valid.margins:
        known_name(measured, metric, "margins")
    # What is drawn from records alone was trained elsewhere, maybe with plugins of there.
    if not valid.records_only:
        _check_datasets(valid)
        _check_backends(valid.backends)
    return valid


def check_blocks(blocks: Blocks) -> None:
    """Check what the types of datasets, workloads and experiments leave open, as `validate` does."""
    for name, block in blocks.datasets.items():
        form = decoded(block, DatasetBlock, f"datasets.{name}").form
        decoded(block, FORMS.get(form, DatasetBlock), f"datasets.{name}")
    for name, workload in blocks.workloads.items():
        where = f"workloads.{name}"
        rule = decoded(workload.optimizer, Optimizer, f"{where}.optimizer").name
        if not defining(rule):
            offered = OPTIMIZERS | {f"{begin}*": None for begin in OWN}
            known_name(offered, rule, f"{where}.optimizer.name")
        decoded(workload.optimizer, OPTIMIZERS.get(rule, Optimizer), f"{where}.optimizer")
        schedule = workload.learning_rate.schedule or {}
        if schedule and not workload.learning_rate.of_framework:
            decoded(schedule, Schedule, f"{where}.learning_rate.schedule")
        untyped = {"model": workload.model, "optimizer": workload.optimizer}
        for part, keys in {**untyped, "learning_rate.schedule": schedule}.items():
            for key, value in keys.items():
                if isinstance(value, str) and re.fullmatch(r"[-+]?[\d.]+[eE][-+]?\d+", value):
                    decoded(value, float, f"{where}.{part}.{key}")
        dataset, data = workload.dataset, blocks.datasets.get(workload.dataset, {})
        if data.get("form") in FORMS or dataset.startswith(f"{TFDS}/"):
            _check_labels(workload.task, data, f"data set {dataset}", f"{where}.task")
        if workload.validation and data.get("form") == STREAM:
            raise UserError(
                f"{where}.validation: the examples of data set {dataset} are windows of one text, which "
                "overlap, so that those held out would be trained on; leave it out"
            )
        weights, classes = workload.task.class_weights, data.get("classes")
        if weights and classes and len(weights) != len(classes):
            raise UserError(
                f"{where}.task.class_weights: there are {len(weights)}, and data set {dataset} has "
                f"{len(classes)} classes; write one for each"
            )
    for name, experiment in blocks.experiments.items():
        if "predictions" in experiment.figures:
            _check_classes(experiment, blocks.workloads, f"experiments.{name}.figures")


def _set_initializers(config: Config) -> None:
    """Set the initializer of workloads that have none: the model's own, which one framework draws.

    Raises `UserError` where several would draw other values.
    """
    trainers: dict[str, dict[str, str]] = {}
    for experiment in config.experiments.values():
        for row in experiment.matrix:
            names = row.backend if isinstance(row.backend, list) else [row.backend]
            for backend in (config.backends[name] for name in names if name in config.backends):
                name = row.workload or experiment.workload
                trainers.setdefault(name, {})[framework_of(backend.engine)] = backend.engine
    for name, workload in config.workloads.items():
        frameworks = trainers.get(name, {})
        if len(frameworks) > 1 and workload.initializer in (ABSENT, MODEL):
            raise UserError(
                f"workloads.{name}.initializer: {workload.initializer or 'is missing'}, and experiments "
                f"train it with {' and '.join(frameworks)}, whose models draw other values; write the rule "
                "by which they are drawn, pytorch or keras say, or leave all frameworks out but one"
            )
        if workload.initializer is ABSENT:
            msgspec.structs.force_setattr(workload, "initializer", MODEL)
        if workload.start and workload.initializer != MODEL:
            raise UserError(
                f"workloads.{name}.start: is of `initializer: model`, whose names are the framework's, "
                f"and this is {workload.initializer}; leave one of them out"
            )


def _check_labels(task: Task, data: dict[str, Any], dataset: str, where: str) -> None:
    for kind, key in (("regression", "targets"), ("multi-label", "indicators")):
        if (task.name == kind) != (key in data):
            holds = f"`{key}`" if key in data else f"no `{key}`"
            raise UserError(
                f"{where}: {dataset} has {holds}, and the task is {task.name}; correct one of them"
            )
    if task.ignored != ("ignored" in data):
        holds = "names" if "ignored" in data else "does not name"
        raise UserError(f"{where}.ignored: {dataset} {holds} an ignored label; correct one of them")


def _check_classes(experiment: Experiment, workloads: dict[str, WorkloadBlock], where: str) -> None:
    for name in (experiment.workload, *(row.workload for row in experiment.matrix)):
        task = workloads[name].task.name if name in workloads else CLASSIFICATION.name
        if task != CLASSIFICATION.name:
            raise UserError(
                f"{where}: predictions shows classes, and workload {name} is {task}; leave it out"
            )


def _check_backends(backends: dict[str, BackendBlock]) -> None:
    if "reference" in backends:
        raise UserError("backends.reference: the parity gate's reference has this name; rename it")
    for name, backend in backends.items():
        if not plugins.file_of(path := f"engines/{backend.engine}.py"):
            raise UserError(
                f"backends.{name}.engine: there is no {path} in scripts/paragone/ or a plugin; add it or "
                "name one that is there"
            )
        environments.check(backend, f"backends.{name}")
        check_backend(backend.backend(name), backend.tuned)


def _check_datasets(config: Config) -> None:
    for name, block in config.datasets.items():
        if plugins.file_of(f"data/forms/{block['form']}.py") is None:
            forms = ", ".join(plugins.names_in("data/forms"))
            raise UserError(
                f"datasets.{name}.form: no module reads the form {block['form']!r}; known are {forms}"
            )
    for name, workload in config.workloads.items():
        where = f"workloads.{name}.dataset"
        block_of(config.datasets, workload.dataset, where)
        decoded(workload.dataset.removeprefix(f"{TFDS}/"), Word, where)
