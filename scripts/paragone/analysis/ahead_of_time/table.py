"""One row per compilation: what its record says, and the bound that follows."""

from typing import Any

import pandas as pd

from paragone.analysis.ahead_of_time.roofline import (
    PARTS,
    bound,
    counted_flop,
    flop_of,
    gathers_activations,
    sent,
)
from paragone.records.compilations import CompilationRecord

# How a status reads in a table.
STATUS = {
    "compiled": "compiled, not run",
    "refused": "refused by the compiler",
    "too_large": "does not fit",
    "no_compiler": "its compiler is not installed",
    "not_exported": "not exported by its framework",
}


def table(records: list[CompilationRecord]) -> pd.DataFrame:
    """One row per record, in their order; seconds, bytes and FLOP are of one device and one step."""
    return pd.DataFrame([_row(record) for record in records])


def _row(record: CompilationRecord) -> dict[str, Any]:
    program, target, memory = record.program, record.target, record.memory
    found, cost = bound(record), record.cost
    parts = {f"{name}_seconds": getattr(found, name) if found else None for name in PARTS}
    counted, compiled = counted_flop(program), cost.flop if cost else None
    return {
        "workload": program.workload,
        "width": program.model.get("width"),
        "backend": program.backend,
        "step": program.step,
        "precision": program.precision,
        "global_batch": program.global_batch,
        "devices": program.devices,
        "target": target.name,
        "target_label": target.label,
        "device": target.device,
        "status": record.status,
        "reason": record.reason,
        "compile_seconds": record.compile_seconds,
        "flop": flop_of(program, cost),
        "compiled_flop": compiled,
        "flop_ratio": compiled / counted if compiled and counted else None,
        "bytes_accessed": cost.bytes_accessed if cost else None,
        "memory_traffic": cost.memory_traffic if cost else None,
        "sent_bytes": sent(record.collectives, target.per_chip),
        "gathers_activations": gathers_activations(record),
        "collectives": sum(one.count for one in record.collectives),
        **parts,
        "bound_seconds": found.seconds if found else None,
        "apart_seconds": found.apart if found else None,
        "binds": found.binds if found else None,
        "estimated_seconds": cost.estimated_seconds if cost else None,
        "examples_per_second": program.global_batch / found.seconds
        if found and record.fits
        else None,
        "memory_bytes": memory.total if memory else None,
        "target_memory": target.memory,
        "fits": record.fits,
        "excess_bytes": record.excess_bytes,
        "stablehlo_sha256": program.stablehlo_sha256,
        "program": program.name,
    }
