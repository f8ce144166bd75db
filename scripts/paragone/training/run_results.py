"""The record of a run, written from what the training loop found out."""

from pathlib import Path

from paragone.base.engine_reports import Devices
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import train_examples
from paragone.records import record
from paragone.records.assemble import assemble
from paragone.records.outcome import Outcome
from paragone.records.run_record import DataRead


def write_record(
    path: Path,
    spec: Spec,
    dataset: Dataset,
    outcome: Outcome,
    observed: Devices | None,
    seconds: dict[str, float] | None,
) -> None:
    """Assemble, check and write it; for `observed` and `seconds` see `records.assemble`."""
    record.write(assemble(spec, _data(spec, dataset), outcome, observed, seconds), path)


def _data(spec: Spec, dataset: Dataset) -> DataRead:
    return DataRead(
        dataset=dataset.name,
        source=dataset.source,
        edition=dataset.edition,
        manifest_sha256=dataset.manifest_sha256,
        train_examples=train_examples(dataset, spec),
        test_examples=len(dataset.test_labels),
        input_shape=list(dataset.train_inputs.shape[1:]),
    )
