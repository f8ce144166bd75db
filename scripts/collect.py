"""Check what was measured and collect it into tidy tables; or only check a folder of records:

    python scripts/collect.py check results/

Exit status 1 of `check` if a rule is broken that makes a run or its speed invalid; not for remarks alone.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from paragone.analysis import compliance, contests, product_tables, tidy
from paragone.base.errors import entry_point
from paragone.base.typed_json import read
from paragone.records import parity_reports, record
from paragone.records.compliance import REMARK, describe, write
from paragone.records.measurements import Products


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Collect as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = parser.add_subparsers(required=True)
    several: dict[str, Any] = {"type": Path, "nargs": "+", "required": True}
    if_any: dict[str, Any] = {"type": Path, "nargs": "*", "default": []}

    runs = modes.add_parser("runs", help="one experiment: one row per run, one row per epoch")
    runs.set_defaults(collect=_collect_runs)
    runs.add_argument("--experiment", required=True, help="its name in the configuration")
    runs.add_argument("--records", **several, metavar="record.json")
    text = "parity reports; a backend that none of them passes gets no speed"
    runs.add_argument("--parity", **if_any, metavar="workload.json", help=text)
    text = "of `collect.py products`; no shares of the peak without it"
    runs.add_argument("--products", type=Path, metavar="matmul.parquet", help=text)
    text = "records of contests, which the speeds of their variants come from"
    runs.add_argument("--contests", **if_any, metavar="record.json", help=text)
    text = "to write: measurement rules that records break; an invalid run enters no median"
    runs.add_argument("--violations", type=Path, metavar="compliance.csv", help=text)
    runs.add_argument("--runs", type=Path, required=True, help=".parquet or .csv to write")
    runs.add_argument("--epochs", type=Path, required=True, help=".parquet or .csv to write")
    runs.add_argument("--rounds", type=Path, help="one row per window of the contests, to write")

    join = modes.add_parser("join", help="all experiments: a run that several share is one row")
    join.set_defaults(collect=_join)
    text = "the runs, or the epochs, of each experiment"
    join.add_argument("--tables", **several, metavar="x.parquet", help=text)
    text = ".csv and .parquet files to write"
    join.add_argument("--output", **several, metavar="all.csv", help=text)

    timed = modes.add_parser("products", help="matrix products: one row per timed run")
    timed.set_defaults(collect=_collect_products)
    timed.add_argument("--results", **several, metavar="backend.json")
    timed.add_argument("--output", **several, help=".csv, .parquet")

    check = modes.add_parser("check", help="name every measurement rule that records break")
    check.set_defaults(collect=_check)
    check.add_argument("folder", type=Path, help="a folder with records")
    options = parser.parse_args(arguments)
    options.collect(options)


def _collect_runs(options: argparse.Namespace) -> None:
    found = compliance.Checked()
    if options.violations:
        paths = [*options.records, *options.contests]
        runs_of = {path.parent.name for path in paths}
        found = compliance.find(paths, options.parity, {options.experiment: runs_of})
        print(describe(found.violations, len(paths)))
    else:
        found.runs += map(record.read, options.records)
    # With a record of contests that cannot be read speeds would be lost unseen.
    if len(found.contests) < len(options.contests):
        found.contests = [*map(record.read_contests, options.contests)]
    parity = parity_reports.read_parity(options.parity)
    rounds = contests.rounds(found.contests, options.experiment, parity)
    runs, epochs = tidy.tables(
        found.runs,
        options.experiment,
        parity,
        tidy.read(options.products) if options.products else None,
        found.violations,
        rounds,
        parity_reports.read_flop(options.parity),
    )
    tidy.write(runs, options.runs)
    tidy.write(epochs, options.epochs)
    if options.rounds:
        tidy.write(rounds, options.rounds)
    if options.violations:
        write(found.violations, options.violations)


def _join(options: argparse.Namespace) -> None:
    whole = tidy.merge([tidy.read(path) for path in options.tables])
    for path in options.output:
        tidy.write(whole, path)


def _collect_products(options: argparse.Namespace) -> None:
    runs = product_tables.table([read(Products, path, "result") for path in options.results])
    for path in options.output:
        tidy.write(runs, path)


def _check(options: argparse.Namespace) -> None:
    records, parity, experiments = compliance.in_folder(options.folder)
    broken = compliance.find(records, parity, experiments).violations
    print(describe(broken, len(records)))
    if any(violation.severity != REMARK for violation in broken):
        sys.exit(1)


if __name__ == "__main__":
    main()
