"""JSON files as typed objects: `msgspec` encodes, decodes and validates them."""

from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from paragone.base.atomic_files import write_bytes
from paragone.base.digests import canonical, sha256_of
from paragone.base.errors import UserError

Kind = TypeVar("Kind")
Count = Annotated[int, Meta(ge=1, lt=2**53)]
Whole = Annotated[int, Meta(ge=0, lt=2**53)]
# Numbers as the file has them: the hash of 1 is not that of 1.0.
Number = int | float
Positive = Annotated[int, Meta(gt=0)] | Annotated[float, Meta(gt=0)]
NotNegative = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]
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
        return msgspec.convert(msgspec.to_builtins(data, enc_hook=_number), kind)
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


def _number(value: Any) -> Any:
    """The number in a NumPy scalar, which frameworks return; `TypeError` for anything else."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no JSON value")


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
