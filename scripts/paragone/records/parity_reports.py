"""Parity reports: which backend passed the parity gate for which workload."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import field

from paragone.base import typed_json
from paragone.base.typed_json import Part

Parity = Mapping[tuple[str, str], bool | None]  # (workload, backend) -> passed; None: could not run


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


def read_parity(paths: Iterable[Path]) -> Parity:
    """Read reports: which backends passed. Raises `UserError` if a file is not a parity report."""
    reports = [typed_json.read(ParityReport, path, "parity report") for path in paths]
    return {
        (report.workload, name): verdict.passed
        for report in reports
        for name, verdict in report.backends.items()
    }
