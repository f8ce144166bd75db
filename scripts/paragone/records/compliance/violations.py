"""Violations of the rules: one entry per rule, run and key; described, written and grouped by run."""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from paragone.base.atomic_files import writing
from paragone.records.compliance.rules import SEVERITIES, table


@dataclass(frozen=True)
class Violation:
    """A rule that a run breaks: the key in which file, and its value."""

    experiment: str
    rule: str
    severity: str
    run: str
    file: str
    where: str
    value: str


def describe(found: list[Violation], records: int) -> str:
    """A line per violation, and one that counts them."""
    lines = [f"{one.file}: {one.rule} ({one.severity}): {one.where}: {one.value}" for one in found]
    count = Counter(one.severity for one in found)
    counts = ", ".join(f"{count[severity]} {severity}" for severity in SEVERITIES)
    lines.append(f"{records} records, {len(table())} rules, {len(found)} violations: {counts}")
    return "\n".join(lines)


def write(violations: list[Violation], path: Path) -> None:
    """Write the violations as CSV, one row each; only the header if there are none."""
    names = [field.name for field in fields(Violation)]
    with writing(path) as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(vars(one) for one in violations)


def by_run(violations: Iterable[Violation]) -> dict[str, list[Violation]]:
    """The violations of each run."""
    groups = defaultdict(list)
    for one in violations:
        groups[one.run].append(one)
    return groups
