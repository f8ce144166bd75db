"""A step of each engine as a StableHLO module: one module here per engine that XLA can compile."""

import importlib
from dataclasses import dataclass
from typing import Any

from paragone.base.engine_reports import FlopCount
from paragone.config.compilations import Program, exporter_of


@dataclass(frozen=True)
class Exported:
    """A program as it leaves its framework.

    `stablehlo`: a module as text, of all devices (`partitions`: the compiler divides it) or of one of them
    (`replicas`: every device runs the same, and meets the others in its own collectives). `flop`: of
    training on one example, by the framework's own counter.
    """

    stablehlo: str
    replicas: int
    partitions: int
    parameters: int
    flop: FlopCount


def export(program: Program) -> Exported:
    """Trace the program in its framework; nothing is compiled and nothing trained.

    Raises `UserError` for an engine without a module here.
    """
    module: Any = importlib.import_module(exporter_of(program.spec.backend["engine"]))
    return module.export(program)
