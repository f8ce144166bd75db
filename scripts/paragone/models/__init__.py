"""The models of the workloads: one module per framework, one function per model."""

from collections.abc import Callable
from typing import Any

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.config.run_spec import Spec
from paragone.data import Dataset

__path__ = plugins.extended(__path__, "models")


def create_model(models: dict[str, Callable[..., Any]], spec: Spec, dataset: Dataset) -> Any:
    """Call the function of the workload's model with the data set's shape, classes and options.

    A model of texts is also given `vocabulary`, the number of word indices.

    Raises `UserError` if the framework has no such model or the options do not fit it.
    """
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
    try:
        with plugins.explaining():
            return models[name](shape, classes, **options)
    except TypeError as error:
        raise UserError(f"workloads.{spec.workload['name']}.model: {error}") from error
