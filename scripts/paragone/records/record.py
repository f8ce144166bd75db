"""The records of runs and of contests, read back as they were written.

The measurement rules are checked when all records are there, and violations are shown: a record that breaks
a rule is a result too.
"""

from pathlib import Path
from typing import TypeVar

import msgspec

from paragone.base.errors import UserError
from paragone.base.typed_json import digest_of_others, typed
from paragone.records.contest_record import ContestsRecord
from paragone.records.run_record import RunRecord

Record = RunRecord | ContestsRecord
Kind = TypeVar("Kind", RunRecord, ContestsRecord)


def decoded(content: bytes) -> Record:
    """Decode the content of a file. Raise `ValueError` if it is no record, or its digest is wrong."""
    try:
        data = msgspec.json.decode(content)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
    of_contests = isinstance(data, dict) and "question" in data
    record = typed(ContestsRecord, data) if of_contests else typed(RunRecord, data)
    if record.digest != (expected := digest_of_others(record)):
        raise ValueError(
            f"was changed after it was written: its digest is {record.digest}, not {expected}"
        )
    return record


def read(path: Path) -> RunRecord:
    """Read the record of a run; `UserError` that names the file, and what is wrong with it."""
    return _read(path, RunRecord)


def read_contests(path: Path) -> ContestsRecord:
    """Read a record of contests, as `read` does."""
    return _read(path, ContestsRecord)


def _read(path: Path, kind: type[Kind]) -> Kind:
    try:
        return typed(kind, decoded(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a valid record: {error}; delete it and run again") from error
