"""The result of one backend's all-reduces: checked and written, read back and checked again."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from paragone.errors import UserError
from paragone.files import write_text

SCHEMA = Path(__file__).parents[3] / "rules" / "schemas" / "allreduce.schema.json"


def check(result: dict[str, Any]) -> None:
    """Raise `ValueError` if the result breaks its schema or a group has other devices than replicas."""
    errors = sorted(_validator().iter_errors(result), key=lambda error: list(error.path))
    if errors:
        raise ValueError(f"{errors[0].json_path}: {errors[0].message}")
    for group in result["groups"]:
        each = group["replicas"] // group["workers"]
        if group["status"] == "completed" and len(group["devices"]) != each:
            raise ValueError(f"groups: {group['devices']} are not {each} device(s) a worker")


def write(result: dict[str, Any], path: Path) -> None:
    """Check the result and write it, whole or not at all."""
    check(result)
    write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", path)


def read(path: Path) -> dict[str, Any]:
    """Read and check a result; `UserError` that names the file if it is broken."""
    try:
        result = json.loads(path.read_text())
        check(result)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a valid result: {error}; delete it and run again") from error
    return result


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
