"""The training step of an engine as a StableHLO module: one module here per engine that XLA compiles.

Each has `export(spec, dataset)`: the module as text, of all devices that the compiler divides it over or of
one of them, and what is known of it.
"""

import importlib
from typing import Any

import numpy as np

from ahead_of_time.plan import exporter_of
from ahead_of_time.records import Example, Exported, Step
from paragone.base.errors import Unavailable, needing_packages
from paragone.config.run_spec import Spec
from paragone.data import Dataset


def export(spec: Spec, example: Example) -> tuple[str, Exported]:
    """Trace the step of `spec.replicas` devices in its framework; nothing is compiled and nothing trained.

    Raises `UserError` for an engine without a module here.
    """
    module: Any = importlib.import_module(exporter_of(spec.backend.engine))
    return module.export(spec, dataset_of(spec, example))


def flop_per_example(spec: Spec, dataset: Dataset) -> int | None:
    """Return the FLOP of training on one example; None without PyTorch, whose model is counted."""
    try:
        with needing_packages():
            from paragone.engines import reference
    except Unavailable:
        return None
    return reference.flop_per_example(spec, dataset)


def dataset_of(spec: Spec, example: Example) -> Dataset:
    """A data set of one empty example without memory of its own: a program depends on shapes alone."""
    kind = np.uint8 if example.vocabulary is None else np.int32
    inputs = np.broadcast_to(np.zeros((), kind), (1, *example.shape))
    labels = np.zeros(1, np.int32)
    return Dataset(
        name=spec.workload.dataset,
        source="shapes alone",
        edition="",
        train_inputs=inputs,
        train_labels=labels,
        test_inputs=inputs,
        test_labels=labels,
        class_names=tuple(map(str, range(example.classes))),
        vocabulary=example.vocabulary,
        manifest_sha256="",
    )


def step_of(spec: Spec, exported: Exported | None, reason: str = "") -> Step:
    """The record of a step; `exported` is None where the framework refused it, for that `reason`."""
    return Step(
        name=spec.name,
        workload=spec.workload.name,
        model=spec.workload.model,
        backend=spec.backend.name,
        precision=spec.precision,
        devices=spec.replicas,
        global_batch=spec.global_batch,
        exported=exported,
        reason=reason,
    )
