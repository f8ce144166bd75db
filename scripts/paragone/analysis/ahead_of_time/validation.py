"""How far a step is from its bound where both are known: on the CPU of this machine, by the same method."""

from dataclasses import dataclass

import pandas as pd

from paragone.analysis.ahead_of_time.roofline import Bound, flop_of, sent
from paragone.analysis.columns import columns_of_process
from paragone.analysis.product_tables import peaks
from paragone.analysis.statistics import Summary, summarize
from paragone.records.compilations import CollectiveUse, MeasuredStep, Traffic

HOST = "cpu"


@dataclass(frozen=True)
class Validation:
    """A step of one program on this machine: measured, its bound by measured peaks, and their ratio.

    `width`: of the model, where it has one. `devices`: virtual ones, which share its cores. `peak`: FLOP/s of
    the fastest matrix product in this precision; `bandwidth`: bytes/s; both of the machine. `link`: bytes/s
    that each device sends in the measured all-reduce, None for one device. `ratio`: of each timed run. No run
    is shorter than its bound unless a cache holds what the bound has in memory.
    `busy`: others used more of the machine than the rule `isolation` allows.
    """

    workload: str
    width: int | None
    backend: str
    global_batch: int
    devices: int
    peak: float
    bandwidth: float
    link: float | None
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
    flop = flop_of(program, result.cost)
    if known.empty or flop is None:
        return None
    peak = float(known["median"].max())
    bandwidth, traffic = _per_second(result.traffic), result.cost.memory_traffic
    link = None
    if result.all_reduce:
        whole = CollectiveUse("all-reduce", 1, program.devices, 1)
        link = sent([whole]) * _per_second(result.all_reduce)
    found = Bound(
        compute=flop * program.devices / peak,
        memory=None if traffic is None else traffic * program.devices / bandwidth,
        links=sent(result.collectives) / link if link else 0.0,
    )
    steps = pd.Series([one / result.calls for one in result.runs])
    return Validation(
        program.workload,
        program.model.get("width"),
        program.backend,
        program.global_batch,
        program.devices,
        peak,
        bandwidth,
        link,
        found,
        summarize(steps),
        summarize(steps / found.seconds),
        bool(about["busy"]),
    )


def _per_second(traffic: Traffic) -> float:
    """Bytes/s, the median of its runs."""
    return float(pd.Series([traffic.bytes / one for one in traffic.runs]).median())
