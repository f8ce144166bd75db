"""The record of a run: checked and written; read back.

A wrong shape, sum, device or source is a mistake of the program, and such a record is never written. The
other rules (rules/schemas/compliance.csv) are checked when all records are there, and violations are shown:
a record that breaks a rule is a result too.
"""

import json
from pathlib import Path

from paragone.base.atomic_files import write_json
from paragone.base.errors import UserError
from paragone.records.compliance import asserted
from paragone.records.run_record import Json, RunRecord
from paragone.records.schemas import valid


def check(data: Json) -> RunRecord:
    """The record in JSON data; `ValueError` if its schema, sums, devices or sources are wrong."""
    record = valid(RunRecord, data, "record")
    for rule in asserted.CHECKS.values():
        for finding in rule(record):
            raise ValueError(f"{finding.where}: {finding.value}")
    return record


def write(record: RunRecord, path: Path) -> None:
    """Check the record and write it with its digest, whole or not at all. Raises as `check` does."""
    data = record.sealed().to_json()
    check(data)
    write_json(data, path)


def read(path: Path) -> RunRecord:
    """Read a record; `UserError` that names the file if it is not valid against the schema.

    The other rules are checked by scripts/collect.py check: a record that breaks them is shown, not refused.
    """
    try:
        return valid(RunRecord, json.loads(path.read_text(encoding="utf-8")), "record")
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a valid record: {error}; delete it and run again") from error
