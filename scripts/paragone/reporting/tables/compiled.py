"""What compilers say of steps that were compiled and not run."""

import pandas as pd

from paragone.analysis.ahead_of_time import table as compiled
from paragone.base.errors import UserError
from paragone.reporting.compilations import (
    BOUND,
    COMPILED,
    milliseconds,
    named,
    not_divided,
    number,
    sources,
    validated,
)
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import TINY, WIDE, Block, Table

RATIO = (
    "FLOP ratio: all operations as the compiler counts them, over the frameworks' count; the bound has the "
    "less of both. Compiler's estimate: its own, of a step, where it has one of all operations. Input for "
    "it: what the input pipeline would have to deliver for a step as short as the bound."
)


def table(inputs: Inputs) -> Table:
    """One row per program and target. Raises `UserError` if nothing was compiled."""
    if not inputs.compilations:
        raise UserError("--compilations: missing; run `snakemake ahead_of_time` first")
    found = compiled.table(inputs.compilations)
    labels = found["backend"].map(lambda name: inputs.labels.get(name, name))
    cells = pd.DataFrame(
        {
            "target": found["target_label"],
            "workload": list(map(named, found["workload"], found["width"])),
            "backend": labels,
            "step": found["step"],
            "batch": found["global_batch"].map("{:,}".format),
            "status": [_status(row) for row in found.to_dict("records")],
            "arithmetic (ms)": found["compute_seconds"].map(milliseconds),
            "memory (ms)": found["memory_seconds"].map(milliseconds),
            "links (ms)": found["links_seconds"].map(milliseconds),
            "binds": found["binds"].fillna("-"),
            "compiler's estimate (ms)": found["estimated_seconds"].map(milliseconds),
            "input for it (examples/s)": found["examples_per_second"].map(number),
            "memory of a device": [_memory(row) for row in found.to_dict("records")],
            "FLOP ratio": found["flop_ratio"].map(lambda x: "-" if pd.isna(x) else f"{x:.2f}"),
        }
    )
    layout = f"l{WIDE}{WIDE}lr{WIDE}rrrlrrlr"
    left_out = [f"Left out: {sentence}" for sentence in inputs.settings.get("left_out", [])]
    block = Block(cells, layout, size=TINY)
    return Table(
        found,
        inputs.title,
        [
            COMPILED,
            BOUND,
            RATIO,
            *not_divided(inputs),
            validated(inputs),
            *left_out,
            *sources(inputs),
        ],
        [block],
    )


def _status(row: dict) -> str:
    words = compiled.STATUS[row["status"]]
    return words if row["status"] == "compiled" else f"{words}: {row['reason']}"


def _memory(row: dict) -> str:
    if not pd.isna(row["memory_bytes"]):
        share = 100 * row["memory_bytes"] / row["target_memory"]
        text = f"{row['memory_bytes'] / 1e6:,.0f} MB, {share:.2g} %"
    else:
        text = "-"
    return (
        text if pd.isna(row["excess_bytes"]) else f"too much by {row['excess_bytes'] / 1e9:,.2f} GB"
    )
