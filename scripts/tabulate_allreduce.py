"""Collect the all-reduces of all backends into one tidy table."""

import argparse
from pathlib import Path

from paragone.analysis import tidy
from paragone.analysis.all_reduce_tables import table
from paragone.base.errors import entry_point
from paragone.records.measurements import check_all_reduces, read


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read every result, check it, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, nargs="+", required=True, metavar="backend.json")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help=".csv, .parquet")
    options = parser.parse_args(arguments)
    runs = table([read(path, check_all_reduces) for path in options.results])
    for path in options.output:
        tidy.write(runs, path)


if __name__ == "__main__":
    main()
