"""JSON data validated against rules/schemas/, and then typed."""

import json
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from paragone.records.run_record import Json, Part, from_json

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

SCHEMAS = Path(__file__).parents[3] / "rules" / "schemas"


def schema_errors(data: Json, name: str) -> list[tuple[str, str]]:
    """Where and how `data` breaks rules/schemas/<name>.schema.json, sorted by path; empty if it is valid."""
    found = sorted(_validator(name).iter_errors(data), key=lambda error: list(error.path))
    return [(error.json_path, error.message) for error in found]


def valid(kind: type[Part], data: Json, name: str) -> Part:
    """The dataclass `kind` made of `data`; `ValueError` if it breaks rules/schemas/<name>.schema.json."""
    for where, message in schema_errors(data, name):
        raise ValueError(f"{where}: {message}")
    return from_json(kind, data)


@cache
def _validator(name: str) -> "Validator":
    # Here, because a training process needs it only after its last clock, and the import takes 60 ms.
    from jsonschema import Draft202012Validator, FormatChecker

    formats = FormatChecker(())
    formats.checks("date-time", ValueError)(_is_time)
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator(schema, format_checker=formats)


def _is_time(value: object) -> bool:
    """Whether a text is a time of day with its zone; `ValueError` if it is none at all."""
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None
