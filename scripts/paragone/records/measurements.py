"""Results of measured products: checked and written, read back and checked again.

Fields, their units and what a null means are described in rules/schemas/matmul.schema.json.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from paragone.base.atomic_files import write_json
from paragone.base.errors import UserError
from paragone.records.run_record import GitState, Json, Load, Machine
from paragone.records.schemas import valid


@dataclass
class Backend:
    """The backend that was measured."""

    name: str
    engine: str
    strategy: str
    device: str


@dataclass
class MeasuringProcess:
    """The process that measured, and its machine."""

    started: str
    machine: Machine
    cores: int
    threads: int
    software: dict[str, str]
    git: GitState | None
    load: Load


@dataclass
class ProductCase:
    """One (m, k) @ (k, n) product in one precision: `calls` products per run, `runs` in seconds."""

    shape: list[int]
    precision: str
    flop: int
    status: str
    reason: str | None
    calls: int | None
    runs: list[float]
    relative_error: float | None


@dataclass
class Products:
    """Matrix products of one backend on one device."""

    schema: int
    backend: Backend
    device_name: str | None
    process: MeasuringProcess
    repeats: int
    cases: list[ProductCase]


Result = TypeVar("Result")


def write(data: Json, path: Path, check: Callable[[Json], Result]) -> None:
    """Check the result and write it, whole or not at all."""
    check(data)
    write_json(data, path)


def read(path: Path, check: Callable[[Json], Result]) -> Result:
    """Read and check a result; `UserError` that names the file if it is not valid."""
    try:
        return check(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a valid result: {error}; delete it and run again") from error


def check_products(data: Json) -> Products:
    """The result; `ValueError` if it breaks its schema or counts its FLOP wrongly."""
    result = valid(Products, data, "matmul")
    for case in result.cases:
        m, k, n = case.shape
        if case.flop != 2 * m * k * n:
            raise ValueError(f"flop of {m},{k},{n}: {case.flop} is not 2 m k n")
    return result
