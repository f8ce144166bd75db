"""Parity reports: which backend passed the parity gate for which workload."""

from pathlib import Path

from msgspec import field

from paragone.base import typed_json
from paragone.base.typed_json import Part

Parity = dict[tuple[str, str], bool]  # (workload, backend) -> passed


class ParityVerdict(Part, frozen=True):
    """The verdict on a backend's probe; `passed`: None where the backend is not available.

    Of each group the largest deviation (None where it is not finite) and what is allowed.
    """

    passed: bool | None
    reason: str | None = None
    deviations: dict[str, float | None] = field(default_factory=dict)
    allowed: dict[str, float] = field(default_factory=dict)


class ParityReport(Part, frozen=True):
    """The verdicts on the backends of one workload, by name."""

    workload: str
    backends: dict[str, ParityVerdict]


def read_parity(paths: list[Path]) -> Parity:
    """(workload, backend) -> passed, of the backends that could run. Raises `UserError`."""
    return {
        cell: passed
        for path in paths
        for cell, passed in read_verdicts(path).items()
        if passed is not None
    }


def read_verdicts(path: Path) -> dict[tuple[str, str], bool | None]:
    """(workload, backend) -> passed, None where the backend could not run.

    Raises `UserError` if the file is not a parity report.
    """
    report = typed_json.read(ParityReport, path, "parity report")
    return {(report.workload, name): one.passed for name, one in report.backends.items()}
