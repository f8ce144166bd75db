"""Unpack bundles, checked, and tabulate what they hold, as the main workflow tabulates records.

Runs are named <run>@<label> from here on, and machines <label> = <machine>: several machines make the same
run, and they are never pooled. The label is the name of the bundle's file.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import pandas as pd

import bundle_archive
from bundle_archive import Listing
from drawn_config import unpacked, with_label
from paragone.analysis import product_tables, tidy
from paragone.base.atomic_files import write_bytes
from paragone.base.errors import entry_point
from paragone.base.typed_json import Job, read, read_job
from paragone.records.measurements import Products

PRODUCTS = "device_matmul/matmul"


class Unpacking(Job, kw_only=True):
    """The bundles, and the files that are written below a folder of results, of which `products` is one."""

    bundles: list[Path]
    records: tuple[Path, ...] = ()
    tables: tuple[Path, ...] = ()
    csv: Path
    products: Path


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Check, unpack and tabulate what the job names."""
    job: Unpacking = read_job(Unpacking, arguments)
    results = job.products.parents[2]
    tables: dict[str, list[pd.DataFrame]] = {}
    for bundle in job.bundles:
        listing, contents = bundle_archive.read(bundle)
        for name, content in contents.items():
            if place := unpacked(name, bundle.stem):
                write_bytes(content, results / place)
        with TemporaryDirectory() as folder:
            bundle_archive.write(contents, Path(folder))
            for name, table in tabulated(Path(folder), listing).items():
                tables.setdefault(name, []).append(apart(table, bundle.stem))
    whole = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
    for name, table in whole.items():
        tidy.write(table, results / f"tables/{name}.parquet")
    tidy.write(whole[PRODUCTS], job.csv)


def tabulated(folder: Path, listing: Listing) -> dict[str, pd.DataFrame]:
    """The tidy tables of a bundle that was unpacked into a folder, by name."""
    parity = sorted(folder.glob("parity/*.json"))
    products = [read(Products, path, "result") for path in sorted(folder.glob("matmul/*.json"))]
    tables = {PRODUCTS: product_tables.table(products)}
    for name, names in listing.experiments.items():
        runs, questions = (
            [folder / kind / member / "record.json" for member in among]
            for kind, among in (("runs", names), ("contests", listing.contests.get(name, [])))
        )
        whole = tidy.of_experiment(name, runs, questions, parity)
        tables |= {f"{name}/{kind}": whole[kind] for kind in ("runs", "epochs", "rounds")}
    return tables


def apart(table: pd.DataFrame, label: str) -> pd.DataFrame:
    """The table with names of runs and machines that no other bundle has."""
    if "machine" in table:
        table = table.assign(machine=f"{label} = " + table["machine"], machine_name=label)
    of_runs = "experiment" in table  # elsewhere `run` is a number
    return table.assign(run=[with_label(run, label) for run in table["run"]]) if of_runs else table


if __name__ == "__main__":
    main()
