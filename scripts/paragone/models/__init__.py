"""The models of the workloads: a module per framework with a function per model."""

import inspect
from collections.abc import Callable
from typing import Any

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.config.run_spec import Spec
from paragone.data import Dataset

__path__ = plugins.extended(__path__, "models")


def create_model(models: dict[str, Callable[..., Any]], spec: Spec, dataset: Dataset) -> Any:
    """Create the workload's model from the data set's shape and classes and the options of its block.

    `models`: functions by name. A model of texts is also given `vocabulary`, the number of word indices.
    Raises `UserError` if the framework lacks the model, or if its options or `input` do not fit.
    """
    _check_input(spec.workload, dataset)
    options = dict(spec.workload["model"])
    name = options.pop("name")
    if name not in models:
        raise UserError(
            f"workloads.{spec.workload['name']}.model.name: backend {spec.backend['name']} has no "
            f"model {name!r}; it has {', '.join(models)}"
        )
    if dataset.vocabulary is not None:
        options["vocabulary"] = dataset.vocabulary
    shape, classes = dataset.train_inputs.shape[1:], len(dataset.class_names)
    where, signature = f"workloads.{spec.workload['name']}.model", inspect.signature(models[name])
    try:
        signature.bind(shape, classes, **options)
    except TypeError as error:
        given = ", ".join(["shape", "classes", *options])
        raise UserError(
            f"{where}: {name} takes {signature}, and is given {given}: {error}"
        ) from error
    with plugins.explaining():
        made = models[name](shape, classes, **options)
    if made is None:
        raise UserError(f"{where}: the function of {name!r} returns no model")
    return made


def _check_input(workload: dict[str, Any], dataset: Dataset) -> None:
    """Raise `UserError` unless numbers are scaled and word indices are not."""
    key = f"workloads.{workload['name']}.input"
    if dataset.vocabulary is None and "input" not in workload:
        raise UserError(
            f"{key}: is missing, and data set {dataset.name} holds numbers, as it has no vocabulary; say "
            "how they are scaled, {divide: 255, mean: 0.0, std: 1.0} say"
        )
    if dataset.vocabulary is not None and "input" in workload:
        raise UserError(
            f"{key}: data set {dataset.name} holds indices of words, which are not scaled; leave it out"
        )
