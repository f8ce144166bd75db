"""The measurement rules as data, and those that a record must obey to be written at all.

rules/schemas/compliance.csv lists the rules with severity and limit; `compliance`, for one record, and
`analysis.compliance`, for those of an experiment, have one function per rule; `analysis.compliance.find` runs
them. A program that trains imports this module alone: an edit of the other rules retrains nothing.
"""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from paragone.config.run_spec import requested
from paragone.records.run_record import Json, Process, RunRecord

TABLE = Path(__file__).parents[3] / "rules" / "schemas" / "compliance.csv"
# invalid: the run enters no median, and figures show its status instead of a value. no speed: losses and
# accuracies count, times do not. remark: the value counts and gets a footnote in figures and tables.
INVALID, NO_SPEED, REMARK = SEVERITIES = ("invalid", "no speed", "remark")
UNREADABLE = "schema"  # the rule that a record breaks which has no typed form

Check = TypeVar("Check", bound=Callable[..., Iterator[Any]])
PartCheck = TypeVar("PartCheck", bound=Callable[..., Iterator["Finding"]])


@dataclass(frozen=True)
class Rule:
    """What must hold, the severity of a violation, the rule's source; `limit` if it has a number."""

    id: str
    severity: str
    limit: float | None
    source: str
    says: str


@dataclass(frozen=True)
class Finding:
    """What breaks a rule: the key in the record, and its value with the expected one."""

    where: str
    value: str

    def within(self, where: str) -> "Finding":
        """The finding with the key of the whole, whose part at `where` it was found in."""
        return Finding(f"{where}.{self.where}", self.value)


@cache
def table() -> dict[str, Rule]:
    """The rules by id, in the order of the file."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    for row in rows:
        row["limit"] = float(row["limit"]) if row["limit"] else None
    return {row["id"]: Rule(**row) for row in rows}


def limit(rule: str) -> float:
    """The limit of a rule that has one; `KeyError` otherwise."""
    number = table()[rule].limit
    if number is None:
        raise KeyError(f"{TABLE.name}: rule {rule} has no limit")
    return number


class Checks(dict[str, Check]):
    """Rule id -> the function that checks it; filled by its own decorator."""

    def rule(self, name: str) -> Callable[[Check], Check]:
        """Register a function as the check of a rule of the table."""

        def register(check: Check) -> Check:
            self[name] = check
            return check

        return register

    def of_each(self, part: str, name: str) -> Callable[[PartCheck], PartCheck]:
        """Register a function as the check of each entry of a list; keys that it finds are those in it."""

        def register(check: PartCheck) -> PartCheck:
            def check_all(whole: Any) -> Iterator[Finding]:
                for at, each in enumerate(getattr(whole, part)):
                    for finding in check(whole, each):
                        yield finding.within(f"{part}[{at}]")

            self[name] = cast(Check, check_all)
            return check

        return register


# A record that breaks one of these is a bug of the program that trained, and is not written.
ASSERTED: Checks[Callable[[RunRecord], Iterator[Finding]]] = Checks()


@ASSERTED.rule("epochs")
def epochs(record: RunRecord) -> Iterator[Finding]:
    """Each epoch from the first on, once."""
    numbers = [epoch.epoch for epoch in record.epochs]
    if numbers != list(range(1, len(numbers) + 1)):
        yield Finding("epochs", f"not every epoch from the first on is there once: {numbers}")


@ASSERTED.of_each("processes", "read")
def read(record: RunRecord, process: Process) -> Iterator[Finding]:
    """Hashes of specification and manifest, of every process."""
    config, manifest = process.config_sha256, process.manifest_sha256
    if config != record.spec.sha256:
        yield Finding("config_sha256", f"{config}, the specification's is {record.spec.sha256}")
    if record.data and manifest != record.data.manifest_sha256:
        wrong = f"{manifest}, the run's is {record.data.manifest_sha256}"
        yield Finding("manifest_sha256", wrong)


@ASSERTED.rule("devices")
def devices(record: RunRecord) -> Iterator[Finding]:
    """Observed = specified."""
    expected = requested(record.spec)
    if record.status == "completed" and record.devices != expected:
        yield Finding("devices", f"{as_json(record.devices)}, specified {as_json(expected)}")


def as_json(part: Any) -> Json | None:
    """A part of a record as the JSON data that a finding shows."""
    return msgspec.to_builtins(part) if part else None
