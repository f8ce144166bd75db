"""Results of measured products and all-reduces: checked and written, read back and checked again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema

from paragone.base.atomic_files import write_text
from paragone.base.errors import UserError

SCHEMAS = Path(__file__).parents[3] / "rules" / "schemas"
Result = dict[str, Any]


def check_schema(result: Result, name: str) -> None:
    """Raise `ValueError` that names the key if the result breaks rules/schemas/<name>.schema.json."""
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    found = jsonschema.Draft202012Validator(schema).iter_errors(result)
    errors = sorted(found, key=lambda error: list(error.path))
    if errors:
        raise ValueError(f"{errors[0].json_path}: {errors[0].message}")


def write(result: Result, path: Path, check: Callable[[Result], None]) -> None:
    """Check the result and write it, whole or not at all."""
    check(result)
    write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", path)


def read(path: Path, check: Callable[[Result], None]) -> Result:
    """Read and check a result; `UserError` that names the file if it is broken."""
    try:
        result = json.loads(path.read_text())
        check(result)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a valid result: {error}; delete it and run again") from error
    return result


def check_products(result: Result) -> None:
    """Raise `ValueError` if the result breaks its schema or counts its FLOP wrongly."""
    check_schema(result, "matmul")
    for case in result["cases"]:
        m, k, n = case["shape"]
        if case["flop"] != 2 * m * k * n:
            raise ValueError(f"flop of {m},{k},{n}: {case['flop']} is not 2 m k n")


def check_all_reduces(result: Result) -> None:
    """Raise `ValueError` if the result breaks its schema or a group has other devices than replicas."""
    check_schema(result, "allreduce")
    for group in result["groups"]:
        each = group["replicas"] // group["workers"]
        if group["status"] == "completed" and len(group["devices"]) != each:
            raise ValueError(f"groups: {group['devices']} are not {each} device(s) a worker")
