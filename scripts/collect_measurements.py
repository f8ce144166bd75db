"""Collect the products or the all-reduces of all backends into one tidy table: one row per timed run."""

import argparse
from pathlib import Path

from paragone.analysis import all_reduce_tables, product_tables, tidy
from paragone.base.atomic_files import write_json
from paragone.base.errors import entry_point
from paragone.records.measurements import check_all_reduces, check_products, read

KINDS = {
    "products": (check_products, product_tables.table),
    "all-reduces": (check_all_reduces, all_reduce_tables.table),
}


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read every result, check it, and write the table; of products, the peaks of the devices too."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind in KINDS:
        one = kinds.add_parser(kind)
        one.add_argument("--results", type=Path, nargs="+", required=True, metavar="backend.json")
        one.add_argument("--output", type=Path, nargs="+", required=True, help=".csv, .parquet")
        if kind == "products":
            one.add_argument("--peaks", type=Path, required=True, help="JSON file to write")
    options = parser.parse_args(arguments)
    check, table = KINDS[options.kind]
    runs = table([read(path, check) for path in options.results])
    for path in options.output:
        tidy.write(runs, path)
    if options.kind == "products":
        write_json(product_tables.peaks_document(runs), options.peaks)


if __name__ == "__main__":
    main()
