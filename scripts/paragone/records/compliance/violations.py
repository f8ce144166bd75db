"""Violations of the rules: one entry per rule, run and key; written, read and grouped by run."""

import csv
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from paragone.base.atomic_files import writing
from paragone.base.errors import UserError


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


def write(violations: list[Violation], path: Path) -> None:
    """Write the violations as CSV, one row each; only the header if there are none."""
    names = [field.name for field in fields(Violation)]
    with writing(path) as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(vars(one) for one in violations)


def read(path: Path) -> list[Violation]:
    """Read a file of `write`. Raises `UserError` if it is something else."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [Violation(**row) for row in csv.DictReader(file)]
    except (OSError, ValueError, TypeError) as error:
        raise UserError(
            f"{path}: not a table of violations ({error}); run check_records.py"
        ) from None


def by_run(violations: Iterable[Violation]) -> dict[str, list[Violation]]:
    """The violations of each run."""
    groups = defaultdict(list)
    for one in violations:
        groups[one.run].append(one)
    return groups
