"""JSON files as typed objects: `msgspec` encodes, decodes and validates them.

A program is asked by one such file: `python scripts/train.py job.json`. The rules write it, see
rules/common.smk.
"""

import sys
from collections.abc import Sequence
from operator import methodcaller
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from paragone.base.atomic_files import canonical, sha256_of, write_bytes
from paragone.base.errors import UserError

Kind = TypeVar("Kind")
Count = Annotated[int, Meta(ge=1, lt=2**53)]
Whole = Annotated[int, Meta(ge=0, lt=2**53)]
# Numbers as the file has them: the hash of 1 is not that of 1.0.
Number = int | float
Positive = Annotated[int, Meta(gt=0)] | Annotated[float, Meta(gt=0)]
NotNegative = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]
Share = Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)]
Fraction = Annotated[int, Meta(ge=0, lt=1)] | Annotated[float, Meta(ge=0, lt=1)]
# The default of a key that may be left out, but has no null.
ABSENT: Any = None


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a file: an object whose keys are the fields, with no others."""


class Block(Part, frozen=True, omit_defaults=True):
    """A part of a specification. A key that has its default is left out, which keeps the run's identity."""

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces."""
        return canonical(msgspec.to_builtins(self))


def typed(kind: type[Kind], data: Any) -> Kind:
    """JSON data, or another object, as a valid `kind`; `ValueError` names the key that is wrong."""
    try:
        # Frameworks return NumPy's scalars.
        return msgspec.convert(msgspec.to_builtins(data, enc_hook=methodcaller("item")), kind)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None


def digest_of_others(value: msgspec.Struct) -> str:
    """SHA-256 of the canonical JSON of all fields but `digest`, which holds it."""
    data = msgspec.to_builtins(value)
    del data["digest"]
    return sha256_of(data)


def sealed(value: Kind) -> Kind:
    """A valid copy whose field `digest` is that of the others; `ValueError` names the key that is wrong."""
    valid: Any = typed(type(value), value)
    valid.digest = digest_of_others(valid)
    return valid


def read(kind: type[Kind], path: Path, what: str) -> Kind:
    """Read a file as a `kind`; `UserError` names the file and the key if it is no valid `what`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a valid {what}: {error}; delete it and run again") from error


def of_option(kind: type[Kind], text: str, option: str) -> Kind:
    """Decode the JSON of an option; `UserError` names the option and the key that is wrong."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UserError(f"{option}: {error}") from error


def write(value: msgspec.Struct, path: Path) -> None:
    """Validate a value and write it, whole or not at all; `ValueError` names the key that is wrong."""
    text = msgspec.json.format(msgspec.json.encode(typed(type(value), value)), indent=1)
    write_bytes(text + b"\n", path)


class Job(msgspec.Struct, forbid_unknown_fields=True):
    """The document of a program; its keys are the fields."""


def read_job(kind: Any, arguments: Sequence[str] | None = None) -> Any:
    """Decode the document that the command line names as a `kind`: a type, or one of several with a tag.

    It may be a list of objects, whose keys are put together: a rule writes one with what decides the
    result, and one with files and resources. Raises `UserError` that names the file and the key.
    """
    names = sys.argv[1:] if arguments is None else arguments
    if len(names) != 1:
        raise UserError(
            "write the name of one JSON document after the program's, see rules/common.smk"
        )
    try:
        document = msgspec.json.decode(Path(names[0]).read_bytes())
        objects = document if isinstance(document, list) else [document]
        keys = {key: value for part in objects for key, value in part.items()}
        # The hook makes paths; msgspec decodes everything else.
        return msgspec.convert(keys, kind, dec_hook=lambda path, value: path(value))
    except (msgspec.MsgspecError, UnicodeDecodeError, AttributeError) as error:
        raise UserError(f"{names[0]}: not a job of this program: {error}") from error


def write_job(job: Job, folder: Path) -> Path:
    """Write the document of another program into a folder; return its path."""
    path = folder / "job.json"
    write_bytes(msgspec.json.encode(job, enc_hook=str), path)
    return path
