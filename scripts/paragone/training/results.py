"""The files of a run: its record, and sample predictions for people to look at."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base import typed_json
from paragone.base.atomic_files import writing
from paragone.config.run_spec import Spec
from paragone.data import Dataset, drawable
from paragone.parity import definition
from paragone.records.run_record import Clocks, DataRead, Epoch, RunRecord
from paragone.tasks.reference import chance_levels
from paragone.training.counts import MODULUS, label_sum, tested_labels
from paragone.workers import RunJob

SAMPLES = 25  # test examples whose predictions are kept, for the 5 x 5 grid
THUMBNAIL = 4096  # bytes as they are drawn; larger images are not kept with the predictions


def write_record(job: RunJob, result: RunRecord, seconds: dict[str, float] | None) -> None:
    """Complete a run's record with clocks; check and write it.

    `job`: has the path. `seconds`: by part of `run_record.CLOCK_PARTS`, summed over the starts of rank 0;
    None if the process that measured is gone.
    """
    result.clocks = clocks(seconds, result.epochs) if seconds else None
    typed_json.write(typed_json.sealed(result), job.record)


def data_read(dataset: Dataset, spec: Spec) -> DataRead:
    """Return what a run reads of its data set."""
    examples, held = spec.split(len(dataset.train_labels))
    used = dataset.train_labels[: examples + held]
    labels, facts = {"train": used, "test": dataset.test_labels}, dict[str, Any]()
    if held:
        rows = definition.held_out(spec, dataset)
        labels |= {"train": np.delete(used, rows, axis=0), "validation": used[rows]}
        facts["validation_examples"] = len(rows)
        facts["validation_labels"] = [label_sum(used[rows], 0) % MODULUS]
    task = spec.workload.task
    facts |= {
        f"{split}_{name}": value
        for split in labels
        for name, value in chance_levels(task, labels[split], dataset.outputs).items()
    }
    return DataRead(
        dataset=dataset.name,
        source=dataset.source,
        edition=dataset.edition,
        manifest_sha256=dataset.manifest_sha256,
        train_examples=examples,
        test_examples=len(definition.tested_rows(spec, dataset, epoch=1)),
        test_labels=tested_labels(spec, dataset),
        input_shape=list(dataset.train_inputs.shape[1:]),
        **facts,
    )


def clocks(seconds: dict[str, float], epochs: list[Epoch]) -> Clocks:
    """Return the clocks that epochs do not hold; `other` has the time of an epoch that was not finished."""
    unfinished = seconds["train"] + seconds["evaluate"]
    unfinished -= math.fsum(epoch.train_seconds + epoch.evaluate_seconds for epoch in epochs)
    parts = {part: seconds[part] for part in Clocks.__struct_fields__}
    return Clocks(**parts | {"other": seconds["other"] + unfinished})


def write_predictions(path: Path, dataset: Dataset, probabilities: np.ndarray | None) -> None:
    """Write the first test examples with their labels and predictions; no rows if there are none.

    Arrays: images (n, height, width, channels) uint8 if they are small; labels and
    predictions (n,) int32; probabilities (n,) float32, those of the predicted classes; class_names
    (classes,) text, by label.
    """
    if probabilities is None:
        probabilities = np.empty((0, dataset.outputs), np.float32)
    count = min(SAMPLES, len(probabilities))
    arrays = {
        "labels": np.asarray(dataset.test_labels[:count]),
        "predictions": probabilities.argmax(1).astype(np.int32),
        "probabilities": probabilities.max(1, initial=0),
        "class_names": np.array(dataset.class_names, dtype=np.str_),
    }
    if dataset.test_inputs.ndim == 4:
        images = drawable(np.asarray(dataset.test_inputs[:count]))
        if images[:1].nbytes <= THUMBNAIL:
            arrays["images"] = images
    with writing(path, "wb") as file:
        np.savez_compressed(file, **arrays)
