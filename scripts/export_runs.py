"""Write runs as neighbours read them: MLPerf's log lines, or TensorBoard's event files, one per run."""

import argparse
from pathlib import Path

from paragone.analysis import tidy
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.records import mllog, record, tensorboard_events


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write a file, or a folder, per run that has a record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("format", choices=["mllog", "tensorboard"])
    parser.add_argument("--results", type=Path, required=True, help="folder with runs/")
    parser.add_argument("--runs", type=Path, required=True, help="runs.parquet: which runs")
    parser.add_argument("--organization", default="Paragone", help="who submits, in MLLOG lines")
    parser.add_argument("--output", type=Path, required=True, help="folder to fill")
    options = parser.parse_args(arguments)
    table = tidy.read(options.runs)
    for run in table.loc[table["status"] != "unreadable", "run"]:
        made = record.read(options.results / "runs" / run / "record.json")
        if options.format == "mllog":
            lines = mllog.lines(made, options.organization)
            write_text("".join(f"{line}\n" for line in lines), options.output / f"{run}.txt")
        else:
            tensorboard_events.write(made, options.output)


if __name__ == "__main__":
    main()
