"""Collect the records of one experiment into tidy tables: one row a run, one row an epoch."""

import argparse
from pathlib import Path

from paragone.analysis import tidy
from paragone.analysis.peaks import read_peaks
from paragone.base.errors import entry_point
from paragone.records import parity_reports, record
from paragone.records.compliance import violations
from paragone.records.compliance.rules import UNREADABLE


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read every record, check it, and write both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", required=True, help="its name in the configuration")
    parser.add_argument("--records", type=Path, nargs="+", required=True, metavar="record.json")
    parser.add_argument(
        "--parity",
        type=Path,
        nargs="*",
        default=[],
        metavar="workload.json",
        help="parity reports; a backend that none of them passes gets no speed",
    )
    parser.add_argument(
        "--peaks",
        type=Path,
        metavar="peaks.json",
        help="of tabulate_matmul.py; no shares without it",
    )
    parser.add_argument(
        "--compliance",
        type=Path,
        metavar="compliance.csv",
        help="what check_records.py found; a run that it calls invalid enters no median",
    )
    parser.add_argument("--runs", type=Path, required=True, help=".parquet or .csv to write")
    parser.add_argument("--epochs", type=Path, required=True, help=".parquet or .csv to write")
    options = parser.parse_args(arguments)
    broken = violations.read(options.compliance) if options.compliance else []
    unreadable = {one.file for one in broken if one.rule in UNREADABLE}
    runs, epochs = tidy.tables(
        [record.read(path) for path in options.records if str(path) not in unreadable],
        options.experiment,
        parity_reports.read_parity(options.parity),
        read_peaks(options.peaks) if options.peaks else (),
        broken,
    )
    tidy.write(runs, options.runs)
    tidy.write(epochs, options.epochs)


if __name__ == "__main__":
    main()
