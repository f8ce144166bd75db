"""How far a step is from its bound where both are known: on the CPU of this machine, by the same method."""

from dataclasses import dataclass

import pandas as pd

from paragone.analysis.ahead_of_time.roofline import Bound
from paragone.analysis.columns import columns_of_process
from paragone.analysis.product_tables import peaks
from paragone.analysis.statistics import Summary, summarize
from paragone.records.compilations import MeasuredStep

HOST = "cpu"


@dataclass(frozen=True)
class Validation:
    """A step of one program on this machine: measured, its bound by measured peaks, and their ratio.

    `peak`: FLOP/s of the fastest matrix product in this precision; `bandwidth`: bytes/s. `ratios`: of each
    timed run. No run is shorter than its bound unless a cache holds what the bound has in memory.
    `busy`: others used more of the machine than the rule `isolation` allows.
    """

    workload: str
    backend: str
    batch: int
    peak: float
    bandwidth: float
    bound: Bound
    step: Summary
    ratio: Summary
    busy: bool


def validate(result: MeasuredStep, products: pd.DataFrame) -> Validation | None:
    """The validation of one measured step; None where no peak of this machine was measured."""
    program, about = result.program, columns_of_process(result.process)
    known = peaks(products)
    here = (known["machine"] == about["machine"]) & (known["device"] == HOST)
    known = known[here & (known["precision"] == program.precision)]
    if known.empty or program.flop_per_example is None:
        return None
    peak = float(known["median"].max())
    bandwidth = float(
        pd.Series([result.traffic.bytes / one for one in result.traffic.runs]).median()
    )
    traffic = result.cost.memory_traffic
    found = Bound(
        compute=program.flop_per_example * program.batch / peak,
        memory=None if traffic is None else traffic / bandwidth,
        links=0.0,
    )
    steps = pd.Series([one / result.calls for one in result.runs])
    return Validation(
        program.workload,
        program.backend,
        program.batch,
        peak,
        bandwidth,
        found,
        summarize(steps),
        summarize(steps / found.seconds),
        bool(about["busy"]),
    )
