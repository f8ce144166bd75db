"""A record as TensorBoard's event files: the columns of its epochs as scalars, its specification as text."""

import json
from datetime import datetime
from pathlib import Path

from paragone.records import run_metrics
from paragone.records.run_record import RunRecord

SCALARS = ("train_loss", "train_accuracy", "test_loss", "test_accuracy", "learning_rate")


def write(record: RunRecord, folder: Path) -> None:
    """Write one event file into a folder of the run's own. A loss that is not finite has no point."""
    # Here: the workflow reads records without it.
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.text.summary_v2 import text_pb
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    begun = datetime.fromisoformat(record.processes[0].started).timestamp()
    writer = EventFileWriter(str(folder / record.run))
    try:
        about = Event(wall_time=begun, step=0)
        about.summary.CopyFrom(text_pb("specification", json.dumps(vars(record.spec), indent=1)))
        writer.add_event(about)
        for epoch, seconds in zip(record.epochs, run_metrics.elapsed(record), strict=True):
            values = {name: getattr(epoch, name) for name in SCALARS}
            values["examples_per_second"] = (
                run_metrics.examples(record, epoch) / epoch.train_seconds
            )
            points = [
                Summary.Value(tag=name, simple_value=value)
                for name, value in values.items()
                if value is not None
            ]
            event = Event(
                wall_time=begun + seconds, step=epoch.epoch, summary=Summary(value=points)
            )
            writer.add_event(event)
    finally:
        writer.close()
