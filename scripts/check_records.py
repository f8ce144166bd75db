"""Check records against all measurement rules (rules/schemas/compliance.csv); name every violation.

    python scripts/check_records.py results/

Exit status 1 if a rule is broken that makes a run or its speed invalid; not for remarks alone.
With --output the violations are written to a file and the status is 0: figures and tables show them.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from paragone.analysis.compliance import checks
from paragone.base.errors import UserError, entry_point
from paragone.records.compliance import violations
from paragone.records.compliance.rules import REMARK, SEVERITIES, table


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "records", type=Path, nargs="+", help="a folder of results, or the records of an experiment"
    )
    parser.add_argument("--experiment", help="its name, where records are given")
    parser.add_argument("--parity", type=Path, nargs="*", default=[], metavar="workload.json")
    parser.add_argument("--manifests", type=Path, nargs="*", default=[], metavar="manifest.json")
    parser.add_argument("--output", type=Path, help="CSV file to write, one row a violation")
    options = parser.parse_args(arguments)
    paths, parity, manifests, experiments = inputs(options)
    found = checks.find(paths, parity, manifests, experiments)
    for one in found:
        print(f"{one.file}: {one.rule} ({one.severity}): {one.where}: {one.value}")
    count = Counter(one.severity for one in found)
    counts = ", ".join(f"{count[severity]} {severity}" for severity in SEVERITIES)
    print(f"{len(paths)} records, {len(table())} rules, {len(found)} violations: {counts}")
    if options.output:
        violations.write(found, options.output)
    elif any(one.severity != REMARK for one in found):
        sys.exit(1)


def inputs(
    options: argparse.Namespace,
) -> tuple[list[Path], list[Path], list[Path], dict[str, set[str]]]:
    """Records, parity reports, manifests and experiments that the command line names."""
    paths = options.records
    if options.experiment:
        runs = {path.parent.name for path in paths}
        return paths, options.parity, options.manifests, {options.experiment: runs}
    if len(paths) != 1 or not paths[0].is_dir():
        raise UserError(f"{paths[0]}: name one folder of results, or an --experiment with records")
    records, parity, manifests, experiments = checks.in_folder(paths[0])
    return records, [*parity, *options.parity], [*manifests, *options.manifests], experiments


if __name__ == "__main__":
    main()
