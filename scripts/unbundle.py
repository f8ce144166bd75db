"""Unpack a bundle, checked, and tabulate what it holds: `results/bundles/<label>/`.

Runs are named <run>@<label> from here on, and machines <label> = <machine>: the same run was made on several.
"""

import argparse
import shutil
from pathlib import Path

import pandas as pd

from paragone.analysis import all_reduce_tables, product_tables, tidy
from paragone.analysis.columns import OF_BUNDLE
from paragone.analysis.compliance import checks
from paragone.base.errors import entry_point
from paragone.records import parity_reports
from paragone.records.bundles import unpack
from paragone.records.bundles.contents import Listing
from paragone.records.compliance import violations
from paragone.records.measurements import check_all_reduces, check_products, read


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Check, unpack and tabulate as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True, help="archive")
    parser.add_argument("--label", required=True, help="of the bundle in figures and tables")
    parser.add_argument("--output", type=Path, required=True, help="folder to fill")
    options = parser.parse_args(arguments)
    listing, contents = unpack.read(options.bundle)
    unpack.write(contents, options.output)
    tables = options.output / "tables"
    for name, table in tabulated(options.output, listing, tables).items():
        tidy.write(apart(table, options.label), tables / name)
    for run in {run for runs in listing.experiments.values() for run in runs}:
        folder = options.output / "runs" / run
        shutil.rmtree(named := folder.with_name(f"{run}@{options.label}"), ignore_errors=True)
        folder.rename(named)


def tabulated(folder: Path, listing: Listing, tables: Path) -> dict[str, pd.DataFrame]:
    """Every tidy table of the bundle, by file; the violations of each experiment are written."""
    parity = sorted(folder.glob("parity/*.json"))
    manifests = sorted(folder.glob("data/*/manifest.json"))
    verdicts = parity_reports.read_parity(parity)
    products = [read(path, check_products) for path in sorted(folder.glob("matmul/*.json"))]
    reduces = [read(path, check_all_reduces) for path in sorted(folder.glob("allreduce/*.json"))]
    timed = product_tables.table(products)
    found = {"matmul.parquet": timed, "allreduce.parquet": all_reduce_tables.table(reduces)}
    peaks = product_tables.peaks_document(timed)["peaks"] if products else ()
    for name, runs in listing.experiments.items():
        paths = [folder / "runs" / run / "record.json" for run in runs]
        broken = checks.find(paths, parity, manifests, {name: set(runs)})
        violations.write(broken, tables / name / "compliance.csv")
        records = tidy.read_records(paths, broken)
        of_runs, of_epochs = tidy.tables(records, name, verdicts, peaks, broken)
        found |= {f"{name}/runs.parquet": of_runs, f"{name}/epochs.parquet": of_epochs}
    return found


def apart(table: pd.DataFrame, label: str) -> pd.DataFrame:
    """The table with names of runs and machines that no other bundle has."""
    if "machine" in table:
        table = table.assign(machine=label + OF_BUNDLE + table["machine"])
    of_runs = "experiment" in table  # elsewhere `run` is a number
    return table.assign(run=table["run"] + f"@{label}") if of_runs else table


if __name__ == "__main__":
    main()
