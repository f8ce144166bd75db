"""Collect the products or the all-reduces of all backends into one tidy table: one row per timed run."""

import argparse
from pathlib import Path

from paragone.analysis import all_reduce_tables, product_tables, tidy
from paragone.base.atomic_files import write_json
from paragone.base.errors import entry_point
from paragone.records.measurements import check_all_reduces, check_products, read


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read every result, check it, and write the table; of products, the peaks of the devices too."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind in ("products", "all-reduces"):
        one = kinds.add_parser(kind)
        one.add_argument("--results", type=Path, nargs="+", required=True, metavar="backend.json")
        one.add_argument("--output", type=Path, nargs="+", required=True, help=".csv, .parquet")
        if kind == "products":
            one.add_argument("--peaks", type=Path, required=True, help="JSON file to write")
    options = parser.parse_args(arguments)
    if options.kind == "products":
        runs = product_tables.table([read(path, check_products) for path in options.results])
        write_json(product_tables.peaks_document(runs), options.peaks)
    else:
        runs = all_reduce_tables.table([read(path, check_all_reduces) for path in options.results])
    for path in options.output:
        tidy.write(runs, path)


if __name__ == "__main__":
    main()
