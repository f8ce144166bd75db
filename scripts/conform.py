"""Say which of the project's demands each way of training that a plugin brings meets, and print the table."""

import argparse
import sys
from pathlib import Path

import pandas as pd

from paragone.base.atomic_files import write_text
from paragone.base.errors import UserError, entry_point
from paragone.conformity.judge import Row, judged

WORDS = {True: "holds", False: "DOES NOT HOLD", None: "not shown"}


@entry_point
def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--trials", nargs="*", type=Path, default=[], help="<workload>.<backend>.json of try_way.py"
    )
    parser.add_argument(
        "--parity", required=True, type=Path, help="folder of parity reports and probes"
    )
    parser.add_argument("--csv", required=True, type=Path, help="table to write")
    options = parser.parse_args()
    if not options.trials:
        raise UserError(
            "nothing to try: no run of the config has a model, optimizer, data form or engine of a plugin; "
            "name its folder under `plugins`, and what it brings in an experiment"
        )
    found = judged(options.trials, options.parity)
    table = pd.DataFrame(
        [
            {
                "workload": way[0],
                "backend": way[1],
                "demand": row.demand,
                "result": WORDS[row.holds],
                "reason": row.reason,
            }
            for way, of_way in found.items()
            for row in of_way
        ]
    )
    write_text(table.to_csv(index=False), options.csv)
    show(found)


def show(found: dict[tuple[str, str], list[Row]]) -> None:
    """Print the table, and its end: how many demands hold."""
    for (workload, backend), of_way in found.items():
        print(f"\n{workload} on {backend}")
        for row in of_way:
            print(f"  {WORDS[row.holds]:13}  {row.demand}: {row.reason}")
    every = [row for of_way in found.values() for row in of_way]
    count = {holds: sum(row.holds is holds for row in every) for holds in WORDS}
    print(
        f"\n{count[True]} of {len(every)} demands hold, {count[False]} do not, {count[None]} not shown"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
