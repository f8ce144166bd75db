"""Unpack bundles, checked, and tabulate what they hold, as the main workflow tabulates records.

Runs are named <run>@<label> from here on, and machines <label> = <machine>: several machines make the same
run, and they are never pooled. The label is the name of the bundle's file.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import pandas as pd

import bundle_archive
from bundle_archive import Listing
from drawn_config import unpacked, with_label
from paragone.analysis import compliance, contests, product_tables, tidy
from paragone.base.atomic_files import write_bytes
from paragone.base.errors import entry_point
from paragone.base.typed_json import read
from paragone.records import parity_reports
from paragone.records.measurements import Products

PRODUCTS = "device_matmul/matmul"


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Check, unpack and tabulate as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundles", type=Path, nargs="+", required=True, metavar="a.zip")
    parser.add_argument("--results", type=Path, required=True, help="folder of results to fill")
    options = parser.parse_args(arguments)
    tables: dict[str, list[pd.DataFrame]] = {}
    for bundle in options.bundles:
        listing, contents = bundle_archive.read(bundle)
        for name, content in contents.items():
            if place := unpacked(name, bundle.stem):
                write_bytes(content, options.results / place)
        with TemporaryDirectory() as folder:
            bundle_archive.write(contents, Path(folder))
            for name, table in tabulated(Path(folder), listing).items():
                tables.setdefault(name, []).append(apart(table, bundle.stem))
    whole = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
    for name, table in whole.items():
        tidy.write(table, options.results / f"tables/{name}.parquet")
    tidy.write(whole[PRODUCTS], options.results / f"tables/{PRODUCTS}.csv")


def tabulated(folder: Path, listing: Listing) -> dict[str, pd.DataFrame]:
    """The tidy tables of a bundle that was unpacked into a folder, by name."""
    parity = sorted(folder.glob("parity/*.json"))
    verdicts, flop = parity_reports.read_parity(parity), parity_reports.read_flop(parity)
    products = [read(Products, path, "result") for path in sorted(folder.glob("matmul/*.json"))]
    tables = {PRODUCTS: product_tables.table(products)}
    for name, runs in listing.experiments.items():
        questions = listing.contests.get(name, [])
        paths = [folder / "runs" / run / "record.json" for run in runs]
        held = [folder / "contests" / question / "record.json" for question in questions]
        checked = compliance.find([*paths, *held], parity, {name: {*runs, *questions}})
        of_rounds = contests.rounds(checked.contests, name, verdicts)
        of_runs, of_epochs = tidy.tables(
            checked.runs, name, verdicts, tables[PRODUCTS], checked.violations, of_rounds, flop
        )
        tables |= {
            f"{name}/runs": of_runs,
            f"{name}/epochs": of_epochs,
            f"{name}/rounds": of_rounds,
        }
    return tables


def apart(table: pd.DataFrame, label: str) -> pd.DataFrame:
    """The table with names of runs and machines that no other bundle has."""
    if "machine" in table:
        table = table.assign(machine=f"{label} = " + table["machine"], machine_name=label)
    of_runs = "experiment" in table  # elsewhere `run` is a number
    return table.assign(run=[with_label(run, label) for run in table["run"]]) if of_runs else table


if __name__ == "__main__":
    main()
