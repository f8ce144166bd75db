"""Check records against all measurement rules (rules/schemas/compliance.csv); name every violation.

    python scripts/check_records.py results/

Exit status 1 if a rule is broken that makes a run or its speed invalid; not for remarks alone.
"""

import argparse
import sys
from pathlib import Path

from paragone.analysis.compliance import checks
from paragone.base.errors import entry_point
from paragone.records.compliance import violations
from paragone.records.compliance.rules import REMARK


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, help="a folder with records")
    records, parity, manifests, experiments = checks.in_folder(parser.parse_args(arguments).results)
    found = checks.find(records, parity, manifests, experiments)
    print(violations.describe(found, len(records)))
    if any(one.severity != REMARK for one in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
