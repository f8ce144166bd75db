"""The speed claims of this project, measured side by side on this machine: a Markdown table.

    make bench

Over an hour on a slow machine, on two cores in any case; run nothing else meanwhile.
--only picks rows by a part of the name of their function: `make bench ONLY=drawing`. benchmarks/README.md
quotes tables.
"""

import argparse
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import training
import workflow
from product import ROOT, Data
from rows import NO, Row, markdown

from paragone.machine import process_entry


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=Path("results"), help="with manifests")
    parser.add_argument("--data-folder", type=Path, default=Path("data"))
    parser.add_argument("--rounds", type=int, default=5, help="of each comparison")
    parser.add_argument("--only", default="", help="part of a row's function's name")
    options = parser.parse_args()
    # One machine for all: the product's runs take two cores, and their opponents would take what there is.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    data = Data(options.results.resolve(), options.data_folder.resolve())
    measurements = [
        *training.rows(data, options.rounds),
        *workflow.rows(data),
    ]
    begun = time.monotonic()
    rows: list[tuple[str, ...]] = []
    for measure in measurements:
        if options.only in name_of(measure):
            for row in (row.cells() for row in tried(measure)):
                print(f"[{time.monotonic() - begun:.0f} s] {' | '.join(row)}", file=sys.stderr)
                rows.append(row)
    minutes, machine = (time.monotonic() - begun) / 60, process_entry.describe_machine()
    print(markdown(rows))
    print(f"{machine.processor}, two cores, commit {commit()}; {minutes:.0f} minutes.")
    print(f"Data: {', '.join(data.sources())}.")
    if not rows or any(row[2].startswith("failed: ") for row in rows):
        sys.exit(1)


def tried(measure: Callable[[], list[Row]]) -> list[Row]:
    """The rows of a measurement; where it fails, one that says so, and the others go on."""
    try:
        return measure()
    except Exception as error:
        traceback.print_exc()
        return [Row(name_of(measure), "", f"failed: {error}", "", NO)]


def name_of(measure: Callable[[], list[Row]]) -> str:
    """The name of a measurement's function."""
    function = measure.func if isinstance(measure, partial) else measure
    return str(getattr(function, "__name__", ""))


def commit() -> str:
    """The commit of the code."""
    line = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
