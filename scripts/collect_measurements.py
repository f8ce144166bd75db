"""Collect the matrix products of all backends into one tidy table: one row per timed run."""

import argparse
from pathlib import Path

from paragone.analysis import product_tables, tidy
from paragone.base.atomic_files import write_json
from paragone.base.errors import entry_point
from paragone.records.measurements import check_products, read


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read every result, check it, and write the table and the peaks of the devices."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, nargs="+", required=True, metavar="backend.json")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help=".csv, .parquet")
    parser.add_argument("--peaks", type=Path, required=True, help="JSON file to write")
    options = parser.parse_args(arguments)
    runs = product_tables.table([read(path, check_products) for path in options.results])
    write_json(product_tables.peaks_document(runs), options.peaks)
    for path in options.output:
        tidy.write(runs, path)


if __name__ == "__main__":
    main()
