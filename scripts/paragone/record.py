"""The record of a run: checked and written; read back and checked again.

The schema (rules/schemas/record.schema.json) fixes the shape; the rules that no schema can state are
asserted here: the clocks add up, and throughput is examples over seconds.
"""

import hashlib
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from paragone.errors import UserError
from paragone.spec import canonical

SCHEMA = Path(__file__).parents[2] / "rules" / "schemas" / "record.schema.json"


def check(record: dict[str, Any]) -> None:
    """Raise `ValueError` if the record breaks its schema, its sums, its devices or its sources."""
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
    _check_examples(record)
    _check_efficiency(record["efficiency"], steady)
    _check_sources(record)
    devices = record["devices"]
    if record["status"] == "completed" and devices["observed"] != devices["requested"]:
        raise ValueError(
            f"devices: requested {devices['requested']}, observed {devices['observed']}"
        )


def _check_examples(record: dict[str, Any]) -> None:
    """Every example counts once, however many replicas shared its batch; steady is the warm epochs."""
    batch, steady = record["spec"]["batch"]["global"], record["steady"]
    for row in record["epochs"]:
        if row["examples"] != row["steps"] * batch:
            raise ValueError(f"epochs: {row['examples']} examples are not steps x global batch")
    warm = [row for row in record["epochs"] if not row["first_of_process"]]
    if (steady["epochs"] if steady else 0) != len(warm):
        raise ValueError("steady: its epochs are not those after the first of each process")
    if steady:
        _equal("steady.examples", steady["examples"], sum(row["examples"] for row in warm))
        seconds = math.fsum(row["train_seconds"] for row in warm)
        _equal("steady.seconds", steady["seconds"], seconds)


def _check_efficiency(efficiency: dict[str, Any] | None, steady: dict[str, Any] | None) -> None:
    if efficiency is None:
        return
    speed = efficiency["steady_flop_per_second"]
    if (speed is None) != (steady is None):
        raise ValueError("efficiency: a speed is there without steady epochs, or they without it")
    if steady:
        expected = efficiency["train_flop_per_example"] * steady["examples_per_second"]
        _equal("efficiency.steady_flop_per_second", speed, expected)


def _check_sources(record: dict[str, Any]) -> None:
    """Every process has read this specification and this manifest."""
    config = hashlib.sha256(canonical(record["spec"]).encode()).hexdigest()
    manifest = (record["data"] or {}).get("manifest_sha256")
    for process in record["processes"]:
        if process["config_sha256"] != config:
            raise ValueError("processes: one has read another specification (config_sha256)")
        if manifest and process["manifest_sha256"] != manifest:
            raise ValueError("processes: one has read another data manifest (manifest_sha256)")


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
