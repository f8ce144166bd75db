"""Join the tables of all experiments: a run that several experiments share is one row."""

import argparse
from pathlib import Path

from paragone.analysis import tidy
from paragone.base.errors import entry_point


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Merge tables of one kind (runs or epochs) and write them in every format asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tables",
        type=Path,
        nargs="+",
        required=True,
        metavar="x.parquet",
        help="the runs, or the epochs, of each experiment",
    )
    parser.add_argument(
        "--output",
        type=Path,
        nargs="+",
        required=True,
        metavar="all.csv",
        help=".csv and .parquet files to write",
    )
    options = parser.parse_args(arguments)
    whole = tidy.merge([tidy.read(path) for path in options.tables])
    for path in options.output:
        tidy.write(whole, path)


if __name__ == "__main__":
    main()
