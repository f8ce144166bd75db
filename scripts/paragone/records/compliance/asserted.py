"""The rules that a record must obey to be written at all: its shape, its sums, its devices, its sources.

One function a rule: what it yields is what breaks it. A break is a mistake of the program that trained, so
`records.record` asserts them. All but `schema` expect a record that is valid against the schema.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jsonschema

from paragone.base.clock_names import COLD, PARTS
from paragone.config.run_spec import canonical
from paragone.records.compliance.rules import Checks, Finding, Record
from paragone.records.run_metrics import steady

SCHEMA = Path(__file__).parents[4] / "rules" / "schemas" / "record.schema.json"
CHECKS = Checks()


@CHECKS.rule("schema")
def schema(record: Record) -> Iterator[Finding]:
    """Shape, types and ranges."""
    for error in sorted(_validator().iter_errors(record), key=lambda error: list(error.path)):
        yield Finding(error.json_path, error.message)


@CHECKS.rule("epochs")
def epochs(record: Record) -> Iterator[Finding]:
    """No hole, none twice."""
    numbers = [row["epoch"] for row in record["epochs"]]
    if numbers != list(range(1, len(numbers) + 1)):
        yield Finding("epochs", f"not every epoch from the first on is there once: {numbers}")


@CHECKS.rule("clock-sum")
def clock_sum(record: Record) -> Iterator[Finding]:
    """Cold parts, train, evaluate, checkpoint and other add up."""
    if clocks := record["clocks"]:
        parts = (clocks["cold"][part] if part in COLD else clocks[part] for part in PARTS)
        yield from unequal("clocks.end_to_end", clocks["end_to_end"], math.fsum(parts))


@CHECKS.rule("epoch-sum")
def epoch_sum(record: Record) -> Iterator[Finding]:
    """The clocks of training and evaluation, and the running sum."""
    epochs, clocks = record["epochs"], record["clocks"]
    # A full memory ends a run in the middle of an epoch.
    if epochs and clocks and record["status"] != "out_of_memory":
        for part in ("train", "evaluate"):
            total = math.fsum(row[f"{part}_seconds"] for row in epochs)
            yield from unequal(f"clocks.{part}", clocks[part], total)
    elapsed = 0.0
    for at, row in enumerate(epochs):
        elapsed += row["train_seconds"]
        yield from unequal(f"epochs[{at}].elapsed", row["elapsed"], elapsed)


@CHECKS.rule("throughput")
def throughput(record: Record) -> Iterator[Finding]:
    """Examples over seconds."""
    if found := record["steady"]:
        speed = found["examples"] / found["seconds"] if found["seconds"] else math.inf
        yield from unequal("steady.examples_per_second", found["examples_per_second"], speed)


@CHECKS.rule("examples")
def examples(record: Record) -> Iterator[Finding]:
    """Steps x global batch, however many replicas shared a batch."""
    batch = record["spec"]["batch"]["global"]
    for at, row in enumerate(record["epochs"]):
        if row["examples"] != row["steps"] * batch:
            told = f"{row['examples']}, not {row['steps']} steps of the global batch {batch}"
            yield Finding(f"epochs[{at}].examples", told)


@CHECKS.rule("steady")
def steady_epochs(record: Record) -> Iterator[Finding]:
    """Which epochs are counted."""
    found, expected = record["steady"], steady(record["epochs"])
    if (found is None) != (expected is None):
        yield Finding("steady", f"{found}, by the epochs it is {expected}")
    elif found and expected:
        for key in ("epochs", "examples", "seconds"):
            yield from unequal(f"steady.{key}", found[key], expected[key])


@CHECKS.rule("efficiency")
def efficiency(record: Record) -> Iterator[Finding]:
    """FLOP/s of the steady epochs."""
    found, warm = record["efficiency"], record["steady"]
    if found is None:
        return
    speed = found["steady_flop_per_second"]
    if (speed is None) != (warm is None):
        yield Finding("efficiency.steady_flop_per_second", f"{speed}, steady is {warm}")
    elif warm:
        expected = found["train_flop_per_example"] * warm["examples_per_second"]
        yield from unequal("efficiency.steady_flop_per_second", speed, expected)


@CHECKS.rule("read")
def read(record: Record) -> Iterator[Finding]:
    """Hashes of specification and manifest, of every process."""
    config = hashlib.sha256(canonical(record["spec"]).encode()).hexdigest()
    manifest = (record["data"] or {}).get("manifest_sha256")
    for at, process in enumerate(record["processes"]):
        if process["config_sha256"] != config:
            told = f"{process['config_sha256']}, the specification's is {config}"
            yield Finding(f"processes[{at}].config_sha256", told)
        if manifest and process["manifest_sha256"] != manifest:
            told = f"{process['manifest_sha256']}, the run's is {manifest}"
            yield Finding(f"processes[{at}].manifest_sha256", told)


@CHECKS.rule("devices")
def devices(record: Record) -> Iterator[Finding]:
    """Requested = specified, observed = requested."""
    spec, requested = record["spec"], record["devices"]["requested"]
    planned = {
        "kind": spec["backend"]["device"],
        "replicas": spec["replicas"],
        "workers": spec["workers"],
    }
    for key, value in planned.items():
        if requested[key] != value:
            yield Finding(f"devices.requested.{key}", f"{requested[key]}, specified {value}")
    observed = record["devices"]["observed"]
    if record["status"] == "completed" and observed != requested:
        yield Finding("devices.observed", f"{observed}, requested {requested}")
    for at, process in enumerate(record["processes"]):
        if process["workers"] != spec["workers"]:
            told = f"{process['workers']}, specified {spec['workers']}"
            yield Finding(f"processes[{at}].workers", told)


def unequal(where: str, found: float, expected: float) -> Iterator[Finding]:
    """A finding where two numbers differ by more than rounding."""
    if not math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6):
        yield Finding(where, f"{found} is not {expected}")


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
