"""Results of measured products, as typed files; `typed_json` reads and writes them."""

from typing import Literal

from paragone.base.typed_json import Count, Part
from paragone.config.run_spec import Backend
from paragone.records.run_record import MeasuringProcess, Number, Positive


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

    def __post_init__(self) -> None:
        """Raise `ValueError` for other FLOP than those of the shape, or a completed case without runs."""
        m, k, n = self.shape
        if self.flop != 2 * m * k * n:
            raise ValueError(f"flop of {m},{k},{n}: {self.flop} is not 2 m k n")
        if self.status == "completed" and not self.runs:
            raise ValueError("runs: none, of a completed case")


class Products(Part, frozen=True):
    """Matrix products of one backend on one device."""

    schema: Literal[1]
    backend: Backend
    device_name: str | None
    process: MeasuringProcess
    repeats: Count
    cases: list[ProductCase]
