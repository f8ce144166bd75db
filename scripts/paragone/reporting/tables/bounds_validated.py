"""The method of the bounds aimed at this machine, where a step can be measured."""

from typing import Any

import pandas as pd

from paragone.analysis.ahead_of_time.validation import Validation
from paragone.analysis.statistics import INTERVAL
from paragone.reporting.compilations import busy, milliseconds
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

HOW = (
    "MEASURED: steps as they are compiled for other machines, compiled by XLA for the CPU of this one and "
    "run on zeros. Bound: the longest of FLOP over the fastest measured matrix product, and of bytes as "
    "compiled over the measured memory bandwidth (a + s b of arrays larger than caches); over several "
    "virtual devices, which share the cores, also of what collectives send over the speed of a measured "
    "all-reduce."
)
COLUMNS = [
    "workload",
    "backend",
    "batch",
    "devices",
    "peak_flop_per_second",
    "memory_bandwidth",
    "link_bandwidth",
    "compute_seconds",
    "memory_seconds",
    "links_seconds",
    "binds",
    "bound_seconds",
    "step_seconds",
    "ratio",
    "low",
    "high",
    "n",
]


def table(inputs: Inputs) -> Table:
    """One row per measured step."""
    found = pd.DataFrame([_row(one) for one in inputs.validations], columns=COLUMNS)
    cells = pd.DataFrame(
        {
            "workload": found["workload"],
            "backend": found["backend"].map(lambda name: inputs.labels.get(name, name)),
            "batch": found["global_batch"].map("{:,}".format),
            "devices": found["devices"],
            "arithmetic (ms)": found["compute_seconds"].map(milliseconds),
            "memory (ms)": found["memory_seconds"].map(milliseconds),
            "links (ms)": found["links_seconds"].map(milliseconds),
            "binds": found["binds"],
            "measured (ms)": found["step_seconds"].map(milliseconds),
            "measured / bound": [
                f"{row['ratio']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
                for row in found.to_dict("records")
            ],
        }
    )
    counts = sorted(set(found["n"]))
    interval = f"Median and {INTERVAL}, n = {' or '.join(map(str, counts)) or '0'} timed runs."
    block = Block(cells, f"l{WIDE}rrrrrlrr")
    return Table(
        found,
        f"{inputs.title}: the method on this machine",
        [HOW, interval + busy(inputs)],
        [block],
    )


def _row(one: Validation) -> dict[str, Any]:
    return {
        "workload": one.workload,
        "backend": one.backend,
        "batch": one.global_batch,
        "devices": one.devices,
        "peak_flop_per_second": one.peak,
        "memory_bandwidth": one.bandwidth,
        "link_bandwidth": one.link,
        "compute_seconds": one.bound.compute,
        "memory_seconds": one.bound.memory,
        "links_seconds": one.bound.links,
        "binds": one.bound.binds,
        "bound_seconds": one.bound.seconds,
        "step_seconds": one.step.median,
        "ratio": one.ratio.median,
        "low": one.ratio.low,
        "high": one.ratio.high,
        "n": one.ratio.n,
    }
