"""Collect the all-reduces of all backends into one tidy table."""

import argparse
from pathlib import Path

from paragone import tables
from paragone.allreduce.result import check
from paragone.allreduce.table import table
from paragone.errors import entry_point
from paragone.results import read


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read every result, check it, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, nargs="+", required=True, metavar="backend.json")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help=".csv, .parquet")
    options = parser.parse_args(arguments)
    runs = table([read(path, check) for path in options.results])
    for path in options.output:
        tables.write(runs, path)


if __name__ == "__main__":
    main()
