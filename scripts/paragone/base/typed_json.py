"""JSON files as typed objects: `msgspec` encodes, decodes and validates them."""

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from paragone.base.atomic_files import write_bytes
from paragone.base.errors import UserError

Kind = TypeVar("Kind")


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a file: an object whose keys are the fields, with no others."""


def typed(kind: type[Kind], data: Any) -> Kind:
    """JSON data, or another object, as a valid `kind`; `ValueError` names the key that is wrong."""
    try:
        return msgspec.convert(msgspec.to_builtins(data, enc_hook=_number), kind)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None


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


def write(value: msgspec.Struct, path: Path) -> None:
    """Validate a value and write it, whole or not at all; `ValueError` names the key that is wrong."""
    text = msgspec.json.format(msgspec.json.encode(typed(type(value), value)), indent=1)
    write_bytes(text + b"\n", path)
