"""The record of a run: checked and written; read back.

A wrong type, sum, device or source is a bug of the program that trained, and such a record is never written.
The other rules (rules/schemas/compliance.csv) are checked when all records are there, and violations are
shown: a record that breaks a rule is a result too.
"""

from pathlib import Path

from paragone.base import typed_json
from paragone.records import rules
from paragone.records.run_record import Json, RunRecord


def check(data: Json | RunRecord) -> RunRecord:
    """The record in JSON data; `ValueError` if its types, epochs, devices or sources are wrong."""
    record = typed_json.typed(RunRecord, data)
    for rule in rules.ASSERTED.values():
        for finding in rule(record):
            raise ValueError(f"{finding.where}: {finding.value}")
    return record


def write(record: RunRecord, path: Path) -> None:
    """Check the record and write it with its digest, whole or not at all. Raises as `check` does."""
    typed_json.write(check(typed_json.sealed(record)), path)


def read(path: Path) -> RunRecord:
    """Read a record; `UserError` that names the file and the key if its types are wrong.

    The other rules are checked by scripts/collect.py check: a record that breaks them is shown, not refused.
    """
    return typed_json.read(RunRecord, path, "record")
