"""The rules that a record must obey to be written at all: its epochs, its devices, its sources.

One function per rule: it yields what breaks the rule. A violation is a bug of the program that trained,
so `records.record` asserts them.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from paragone.config import run_spec
from paragone.records.compliance.rules import Checks, Finding
from paragone.records.run_record import Json, RunRecord

CHECKS: Checks[Callable[[RunRecord], Iterator[Finding]]] = Checks()


@CHECKS.rule("epochs")
def epochs(record: RunRecord) -> Iterator[Finding]:
    """Each epoch from the first on, once."""
    numbers = [epoch.epoch for epoch in record.epochs]
    if numbers != list(range(1, len(numbers) + 1)):
        yield Finding("epochs", f"not every epoch from the first on is there once: {numbers}")


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
    """Observed = specified."""
    expected = run_spec.requested(record.spec)
    if record.status == "completed" and record.devices != expected:
        yield Finding("devices", f"{as_json(record.devices)}, specified {as_json(expected)}")


def as_json(part: Any) -> Json | None:
    """A part of a record as the JSON data that a finding shows."""
    return msgspec.to_builtins(part) if part else None
