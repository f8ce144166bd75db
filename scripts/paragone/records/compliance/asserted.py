"""The rules that a record must obey to be written at all: its shape, its sums, its devices, its sources.

One function per rule: it yields what breaks the rule. A violation is a mistake of the program that trained,
so `records.record` asserts them. `schema` reads JSON; all others read records that are valid against it.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from paragone.config import run_spec
from paragone.records.compliance.rules import Checks, Finding
from paragone.records.run_metrics import steady
from paragone.records.run_record import Json, RunRecord
from paragone.records.schemas import schema_errors

CHECKS: Checks[Callable[[RunRecord], Iterator[Finding]]] = Checks()


def schema(data: Json) -> Iterator[Finding]:
    """Shape, types and ranges."""
    for where, message in schema_errors(data, "record"):
        yield Finding(where, message)


@CHECKS.rule("epochs")
def epochs(record: RunRecord) -> Iterator[Finding]:
    """Each epoch from the first on, once."""
    numbers = [epoch.epoch for epoch in record.epochs]
    if numbers != list(range(1, len(numbers) + 1)):
        yield Finding("epochs", f"not every epoch from the first on is there once: {numbers}")


@CHECKS.rule("clock-sum")
def clock_sum(record: RunRecord) -> Iterator[Finding]:
    """Cold parts and the others add up."""
    if clocks := record.clocks:
        rest = (clocks.train, clocks.evaluate, clocks.checkpoint, clocks.window, clocks.other)
        total = math.fsum([*vars(clocks.cold).values(), *rest])
        yield from unequal("clocks.end_to_end", clocks.end_to_end, total)


@CHECKS.rule("epoch-sum")
def epoch_sum(record: RunRecord) -> Iterator[Finding]:
    """The clocks of training, evaluation and speed window, and the running sum."""
    epochs, clocks = record.epochs, record.clocks
    # A full memory ends a run in the middle of an epoch.
    if epochs and clocks and record.status != "out_of_memory":
        for part in ("train", "evaluate"):
            total = math.fsum(getattr(epoch, f"{part}_seconds") for epoch in epochs)
            yield from unequal(f"clocks.{part}", getattr(clocks, part), total)
    measured = math.fsum(one.seconds for one in record.window)
    if clocks and clocks.window < measured - 1e-6:
        yield Finding(
            "clocks.window", f"{clocks.window} is less than {measured}, that of its epochs"
        )
    elapsed = 0.0
    for at, epoch in enumerate(epochs):
        elapsed += epoch.train_seconds
        yield from unequal(f"epochs[{at}].elapsed", epoch.elapsed, elapsed)


@CHECKS.rule("examples")
def examples(record: RunRecord) -> Iterator[Finding]:
    """Steps x global batch, however many replicas shared a batch."""
    batch = record.spec.batch["global"]
    for at, epoch in enumerate(record.epochs):
        if epoch.examples != epoch.steps * batch:
            wrong = f"{epoch.examples}, not {epoch.steps} steps of the global batch {batch}"
            yield Finding(f"epochs[{at}].examples", wrong)


@CHECKS.rule("efficiency")
def efficiency(record: RunRecord) -> Iterator[Finding]:
    """FLOP/s in the speed window."""
    found, warm = record.efficiency, steady(record.window, record.spec.batch["global"])
    if found is None:
        return
    where, speed = "efficiency.steady_flop_per_second", found.steady_flop_per_second
    if speed is not None and warm:
        yield from unequal(where, speed, found.train_flop_per_example * warm.examples_per_second)
    elif speed is not None or warm:
        yield Finding(where, f"{speed}, the window is {warm}")


@CHECKS.rule("read")
def read(record: RunRecord) -> Iterator[Finding]:
    """Hashes of specification and manifest, of every process."""
    config = record.spec.sha256
    manifest = record.data.manifest_sha256 if record.data else None
    for at, process in enumerate(record.processes):
        if process.config_sha256 != config:
            wrong = f"{process.config_sha256}, the specification's is {config}"
            yield Finding(f"processes[{at}].config_sha256", wrong)
        if manifest and process.manifest_sha256 != manifest:
            wrong = f"{process.manifest_sha256}, the run's is {manifest}"
            yield Finding(f"processes[{at}].manifest_sha256", wrong)


@CHECKS.rule("devices")
def devices(record: RunRecord) -> Iterator[Finding]:
    """Requested = specified, observed = requested."""
    spec, requested, observed = record.spec, record.devices.requested, record.devices.observed
    for key, value in vars(run_spec.requested(spec)).items():
        if (found := getattr(requested, key)) != value:
            yield Finding(f"devices.requested.{key}", f"{found}, specified {value}")
    if record.status == "completed" and observed != requested:
        wrong = f"{as_json(observed)}, requested {as_json(requested)}"
        yield Finding("devices.observed", wrong)
    for at, process in enumerate(record.processes):
        if process.workers != spec.workers:
            wrong = f"{process.workers}, specified {spec.workers}"
            yield Finding(f"processes[{at}].workers", wrong)


def unequal(where: str, found: float, expected: float) -> Iterator[Finding]:
    """A finding where two numbers differ by more than rounding."""
    if not math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6):
        yield Finding(where, f"{found} is not {expected}")


def as_json(part: Any) -> Json | None:
    """A part of a record as the JSON data that a finding shows."""
    return asdict(part) if part else None
