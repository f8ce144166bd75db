"""The record of a run: checked and written; read back and checked again.

The schema (rules/schemas/record.schema.json) fixes the shape; the rules that no schema can state are
asserted here: the clocks add up, and throughput is examples over seconds.
"""

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from paragone.errors import UserError

SCHEMA = Path(__file__).parents[2] / "rules" / "schemas" / "record.schema.json"


def check(record: dict[str, Any]) -> None:
    """Raise `ValueError` if the record breaks its schema, its sums or its devices."""
    errors = sorted(_validator().iter_errors(record), key=lambda error: list(error.path))
    if errors:
        raise ValueError(f"{errors[0].json_path}: {errors[0].message}")
    clocks = record["clocks"]
    if clocks:
        parts = [*clocks["cold"].values()]
        parts += [value for part, value in clocks.items() if part not in ("cold", "end_to_end")]
        _equal("clocks.end_to_end", clocks["end_to_end"], math.fsum(parts))
    epochs = record["epochs"]
    if epochs and record["status"] != "out_of_memory":  # that ends in the middle of an epoch
        _equal("clocks.train", clocks["train"], math.fsum(e["train_seconds"] for e in epochs))
    if [row["epoch"] for row in epochs] != list(range(1, len(epochs) + 1)):
        raise ValueError("epochs: not every epoch from the first on is there once")
    if steady := record["steady"]:
        _equal(
            "steady.examples_per_second",
            steady["examples_per_second"],
            steady["examples"] / steady["seconds"],
        )
    devices = record["devices"]
    if record["status"] == "completed" and devices["observed"] != devices["requested"]:
        raise ValueError(
            f"devices: requested {devices['requested']}, observed {devices['observed']}"
        )


def write(record: dict[str, Any], path: Path) -> None:
    """Check the record, write it under a temporary name, rename it."""
    check(record)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")
    unfinished.rename(path)


def read(path: Path) -> dict[str, Any]:
    """Read and check a record; `UserError` that names the file if it is broken."""
    try:
        record = json.loads(Path(path).read_text())
        check(record)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a valid record: {error}; delete it and run again") from error
    return record


def _equal(what: str, found: float, expected: float) -> None:
    if not math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6):
        raise ValueError(f"{what}: {found} is not {expected}")


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
