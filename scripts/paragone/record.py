"""The record of a run: assembled, checked and written; read back and checked again.

The schema (rules/schemas/record.schema.json) fixes the shape; the rules that no schema can state are
asserted here: the clocks add up, and throughput is examples over seconds.
"""

import json
import math
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from paragone.clocks import COLD
from paragone.data import Dataset
from paragone.engines import Devices
from paragone.errors import UserError
from paragone.loop import Outcome
from paragone.spec import Spec

SCHEMA = Path(__file__).parents[2] / "rules" / "schemas" / "record.schema.json"


def assemble(
    spec: Spec,
    dataset: Dataset,
    outcome: Outcome,
    observed: Devices | None,
    seconds: dict[str, float],
) -> dict[str, Any]:
    """The record as plain JSON data. `seconds`: of each part of `clocks.PARTS`, all processes added."""
    return {
        "schema": 1,
        "run": spec.name,
        "status": outcome.status,
        "reason": outcome.reason,
        "spec": asdict(spec),
        "data": {
            "dataset": dataset.name,
            "source": dataset.source,
            "edition": dataset.edition,
            "manifest_sha256": dataset.manifest_sha256,
            "train_examples": len(dataset.train_labels),
            "test_examples": len(dataset.test_labels),
        },
        "model": outcome.model,
        "devices": {
            "requested": asdict(Devices(spec.backend["device"], spec.replicas, workers=1)),
            "observed": asdict(observed) if observed else None,
        },
        "processes": outcome.processes,
        "clocks": {
            "cold": {part: seconds[part] for part in COLD},
            **{part: value for part, value in seconds.items() if part not in COLD},
            "end_to_end": math.fsum(seconds.values()),
        },
        "steady": _steady(outcome.epochs),
        "epochs": [_finite(row) for row in outcome.epochs],
        "target": _target(spec.workload.get("target"), outcome.epochs),
    }


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


def _steady(epochs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Throughput over the epochs that are not the first of their process."""
    warm = [row for row in epochs if not row["first_of_process"]]
    if not warm:
        return None
    examples = sum(row["examples"] for row in warm)
    seconds = math.fsum(row["train_seconds"] for row in warm)
    return {
        "epochs": len(warm),
        "examples": examples,
        "seconds": seconds,
        "examples_per_second": examples / seconds,
    }


def _target(target: dict[str, Any] | None, epochs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Time to target on the train clock; the interval (last miss, first hit] holds it."""
    if target is None:
        return None
    hits = [row["test_accuracy"] >= target["accuracy"] for row in epochs]
    patience = target["patience"]
    starts = (i for i in range(len(hits) - patience + 1) if all(hits[i : i + patience]))
    first = next(starts, None)
    reached = first is not None
    return {
        "accuracy": target["accuracy"],
        "patience": patience,
        "reached": reached,
        "epoch": epochs[first]["epoch"] if reached else None,
        "last_miss": (epochs[first - 1]["elapsed"] if first else 0.0) if reached else None,
        "first_hit": epochs[first]["elapsed"] if reached else None,
    }


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


def _equal(what: str, found: float, expected: float) -> None:
    if not math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6):
        raise ValueError(f"{what}: {found} is not {expected}")


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
