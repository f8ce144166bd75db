"""What models share: a module per framework with layers and a table of models; papers have the models."""

import inspect
import random
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_origin

import msgspec
import numpy as np

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.config.engines import least_input
from paragone.config.run_spec import Spec, Workload
from paragone.data import Dataset
from paragone.tasks import TOP

__path__ = plugins.extended(__path__, "models")


def create_model(
    models: dict[str, Callable[..., Any]], spec: Spec, dataset: Dataset, **offered: Any
) -> Any:
    """Create the workload's model from the data set's shape and classes and the options of its block.

    `models`: functions by name. A model of texts is also given `vocabulary`, the number of word indices; one
    of numbers the number of targets in the place of classes. `offered`: what a function is given if its
    signature has it. Raises `UserError` if the framework lacks the model, or if its options, `input` or
    `task` do not fit.
    """
    _check_input(spec.workload, dataset)
    _check_labels(spec.workload, dataset)
    name, options = spec.workload.model_name, spec.workload.model_options
    shape, classes = dataset.train_inputs.shape[1:], dataset.outputs
    check_shape(name, dataset.name, list(shape), dataset.vocabulary)
    if name not in models:
        raise UserError(
            f"workloads.{spec.workload.name}.model.name: backend {spec.backend.name} has no "
            f"model {name!r}; it has {', '.join(models)}"
        )
    if dataset.vocabulary is not None:
        options["vocabulary"] = dataset.vocabulary
    where, signature = f"workloads.{spec.workload.name}.model", signature_of(models[name])
    options |= {key: value for key, value in offered.items() if key in signature.parameters}
    try:
        signature.bind(shape, classes, **options)
    except TypeError as error:
        given = ", ".join(["shape", "classes", *options])
        raise UserError(
            f"{where}: {name} takes {signature}, and is given {given}: {error}"
        ) from error
    for key, value in options.items():
        kind = getattr(signature.parameters.get(key), "annotation", None)
        try:
            # Python's own types and names to choose from: what others hold is a model's affair.
            is_type = getattr(kind, "__module__", "") in ("builtins", "types")
            if is_type or get_origin(kind) is Literal:
                msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            annotation = inspect.formatannotation(kind)
            raise UserError(
                f"{where}.{key}: {name} takes {annotation}, and is given {value!r}: {error}"
            ) from error
    # What a model draws without its framework is that of the run's seed, too.
    random.seed(spec.seed)
    np.random.seed(spec.seed)  # noqa: NPY002 (the generator that models use)
    with plugins.explaining(), plugins.unchanged(plugins.origin(name)):
        model = models[name](shape, classes, **options)
    if model is None:
        raise UserError(f"{where}: the function of {name!r} returns no model")
    return model


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function or of a class, of which flax hides it."""
    if not isinstance(function, type):
        return inspect.signature(function)
    return inspect.signature(partial(function.__init__, None))  # type: ignore[misc]  # of the class itself


def check_shape(model: str, dataset: str, shape: list[int], vocabulary: int | None) -> None:
    """Raise `UserError` for examples of which the layers of a model leave nothing, as its folder declares.

    shape: of one example of the data set of this name. vocabulary: None unless these are word indices.
    """
    declared, sides = least_input(model), shape if vocabulary else shape[:2]
    if not declared:
        return
    least = declared.least
    images = len(least) == 2
    takes = "images" if images else "texts"
    if (vocabulary is None) != images or (images and len(shape) != 3):
        kind = "word indices" if vocabulary else f"numbers of shape ({', '.join(map(str, shape))})"
        raise UserError(f"datasets.{dataset}: holds {kind}, and model {model} takes {takes}")
    if any(side < enough for side, enough in zip(sides, least, strict=True)):
        size, enough = (" x ".join(map(str, lengths)) for lengths in (sides, least))
        unit = "pixels; store or resize them larger" if images else "words; raise `length`"
        raise UserError(
            f"datasets.{dataset}: holds {takes} of {size}, and model {model} takes no less than {enough} "
            f"{unit}, or name another model"
        )


def _check_labels(workload: Workload, dataset: Dataset) -> None:
    """Raise `UserError` unless the labels are what the task learns."""
    key, task = f"workloads.{workload.name}.task", workload.task
    if task.numeric == bool(dataset.class_names):
        holds = "classes" if dataset.class_names else "numbers"
        raise UserError(
            f"{key}: data set {dataset.name} holds {holds}, which {task.name} does not learn"
        )
    inputs, labels = dataset.train_inputs.shape, dataset.train_labels.shape
    if task.class_weights and len(task.class_weights) != dataset.outputs:
        raise UserError(
            f"{key}.class_weights: there are {len(task.class_weights)}, and data set {dataset.name} has "
            f"{dataset.outputs} classes; write one for each"
        )
    if task.top5 and dataset.outputs <= TOP:
        raise UserError(
            f"{key}.top5: data set {dataset.name} has {dataset.outputs} classes, and top-5 accuracy is that "
            "of more than five; leave it out"
        )
    if task.name == "language-modeling" and (dataset.vocabulary is None or inputs != labels):
        raise UserError(
            f"{key}: {task.name} needs the next token of each, and data set {dataset.name} has labels of "
            f"shape {labels} for inputs of shape {inputs}"
        )


def _check_input(workload: Workload, dataset: Dataset) -> None:
    """Raise `UserError` unless numbers are scaled, all or channel by channel, and word indices are not."""
    key = f"workloads.{workload.name}.input"
    if dataset.vocabulary is None and workload.input is None:
        raise UserError(
            f"{key}: is missing, and data set {dataset.name} holds numbers, as it has no vocabulary; say "
            "how they are scaled, {divide: 255, mean: 0.0, std: 1.0} say"
        )
    for name in ("mean", "std"):
        values = getattr(workload.input, name, 0)
        if isinstance(values, tuple) and len(values) != (
            channels := dataset.train_inputs.shape[-1]
        ):
            raise UserError(
                f"{key}.{name}: has {len(values)} numbers, and examples of {dataset.name} have {channels} "
                "channels; write one number for each, or one for all"
            )
    if dataset.vocabulary is not None and workload.input is not None:
        raise UserError(
            f"{key}: data set {dataset.name} holds indices of words, which are not scaled; leave it out"
        )
