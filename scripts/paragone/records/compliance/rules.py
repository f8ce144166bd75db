"""The rules as data, what a rule finds, and how a function becomes a rule's check."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[4] / "rules" / "schemas" / "compliance.csv"
# invalid: the run enters no median and is drawn in words. no speed: what it learned counts, its
# seconds do not. remark: the value stands, and figures and tables say so.
INVALID, NO_SPEED, REMARK = SEVERITIES = ("invalid", "no speed", "remark")

UNREADABLE = frozenset({"schema", "specification"})  # no other rule can be asked where these break

Record = dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """What must hold, how much hangs on it, where it comes from; `limit` where it has a number."""

    id: str
    severity: str
    limit: float | None
    source: str
    says: str


@dataclass(frozen=True)
class Finding:
    """What breaks a rule: the key of the record, and the value there beside what is right."""

    where: str
    value: str


@cache
def table() -> dict[str, Rule]:
    """The rules by id, in the order of the file."""
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        row["id"]: Rule(**{**row, "limit": float(row["limit"]) if row["limit"] else None})
        for row in rows
    }


def limit(rule: str) -> float:
    """The number in a rule that has one."""
    number = table()[rule].limit
    if number is None:
        raise KeyError(f"{TABLE.name}: rule {rule} has no limit")
    return number


class Checks(dict[str, Callable]):
    """Rule id -> the function that checks it; filled by its own decorator."""

    def rule(self, name: str) -> Callable:
        """Register a function as the check of a rule of the table."""

        def register(check: Callable[..., Iterator]) -> Callable[..., Iterator]:
            self[name] = check
            return check

        return register
