"""The record of a run: checked and written; read back.

What is wrong in the shape, the sums, the devices or what was read is a mistake of the program and is never
written. What else the rules ask for (rules/schemas/compliance.csv) is judged when all records are
there, and shown: a record that breaks a rule is a result too.
"""

import json
from pathlib import Path
from typing import Any

from paragone.base.errors import UserError
from paragone.records.compliance import asserted


def check(record: dict[str, Any]) -> None:
    """Raise `ValueError` if the record breaks its schema, its sums, its devices or its sources."""
    for rule in asserted.CHECKS.values():
        for finding in rule(record):
            raise ValueError(f"{finding.where}: {finding.value}")


def write(record: dict[str, Any], path: Path) -> None:
    """Check the record, write it under a temporary name, rename it."""
    check(record)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")
    unfinished.rename(path)


def read(path: Path) -> dict[str, Any]:
    """Read a record; `UserError` that names the file if it has not the shape of one.

    Other rules are for scripts/check_records.py: a record that breaks them is shown, not refused.
    """
    try:
        record = json.loads(Path(path).read_text())
        for finding in asserted.schema(record):
            raise ValueError(f"{finding.where}: {finding.value}")
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a valid record: {error}; delete it and run again") from error
    return record
