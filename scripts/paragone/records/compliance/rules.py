"""The rules as data, what a rule finds, and how a function becomes a rule's check."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

TABLE = Path(__file__).parents[4] / "rules" / "schemas" / "compliance.csv"
# invalid: the run enters no median, and figures show its status instead of a value. no speed: losses and
# accuracies count, times do not. remark: the value counts and gets a footnote in figures and tables.
INVALID, NO_SPEED, REMARK = SEVERITIES = ("invalid", "no speed", "remark")

UNREADABLE = frozenset({"schema", "specification"})  # a record that breaks these has no typed form

Check = TypeVar("Check", bound=Callable[..., Iterator[Any]])


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
