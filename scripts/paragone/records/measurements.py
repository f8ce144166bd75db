"""Results other than of training: measured products, and what the parity gate reports."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import field

from paragone.base import typed_json
from paragone.base.typed_json import Count, Part
from paragone.config.run_spec import Backend
from paragone.records.run_record import MeasuringProcess, Number, Positive

Parity = Mapping[tuple[str, str], bool | None]  # (workload, backend) -> passed; None: could not run


class ProductCase(Part, frozen=True):
    """One (m, k) @ (k, n) product in one precision: `calls` products per run, `runs` in seconds."""

    shape: tuple[Count, Count, Count]
    precision: str
    flop: Count
    status: str
    reason: str | None
    calls: Count | None
    runs: list[Positive]
    relative_error: Number | None


class Products(Part, frozen=True):
    """Matrix products of one backend on one device."""

    schema: Literal[1]
    backend: Backend
    device_name: str | None
    process: MeasuringProcess
    repeats: Count
    cases: list[ProductCase]


class ParityVerdict(Part, frozen=True):
    """The verdict on a backend's probe; `passed`: None where the backend is not available.

    Of each group the largest deviation (None where it is not finite) and what is allowed. `notices`: what is
    legal and odd in the model.
    """

    passed: bool | None
    reason: str | None = None
    deviations: dict[str, float | None] = field(default_factory=dict)
    allowed: dict[str, float] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


class ParityReport(Part, frozen=True):
    """The verdicts on the backends of one workload, by name.

    `flop_per_example`: of training, as `engines.reference` counts them; None where nobody has counted.
    """

    workload: str
    backends: dict[str, ParityVerdict]
    flop_per_example: Count | None = None


def read_parity(paths: Iterable[Path]) -> Parity:
    """Read reports: which backends passed. Raises `UserError` if a file is not a parity report."""
    return {
        (report.workload, name): verdict.passed
        for report in _reports(paths)
        for name, verdict in report.backends.items()
    }


def read_flop(paths: Iterable[Path]) -> dict[str, int]:
    """Read reports: the FLOP of training on one example, by workload. Raises as `read_parity` does."""
    counts = {report.workload: report.flop_per_example for report in _reports(paths)}
    return {workload: count for workload, count in counts.items() if count is not None}


def _reports(paths: Iterable[Path]) -> list[ParityReport]:
    return [typed_json.read(ParityReport, path, "parity report") for path in paths]
