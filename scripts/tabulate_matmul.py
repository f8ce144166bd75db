"""Collect the products of all backends into one tidy table, and find each device's peak."""

import argparse
import json
from pathlib import Path

from paragone.analysis import tidy
from paragone.analysis.product_tables import peaks_document, table
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.records.measurements import check_products, read


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read every result, check it, and write the table and the peaks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, nargs="+", required=True, metavar="backend.json")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help=".csv, .parquet")
    parser.add_argument("--peaks", type=Path, required=True, help="JSON file to write")
    options = parser.parse_args(arguments)
    runs = table([read(path, check_products) for path in options.results])
    for path in options.output:
        tidy.write(runs, path)
    write_text(json.dumps(peaks_document(runs), indent=1) + "\n", options.peaks)


if __name__ == "__main__":
    main()
