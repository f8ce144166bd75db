"""The part of a record that says what was exported. No compiler is imported here."""

import hashlib

from paragone.ahead_of_time.exports import Exported
from paragone.config.compilations import Program
from paragone.machine.process_entry import software
from paragone.records.run_record import Json


def program_entry(program: Program, exported: Exported | None) -> Json:
    """The record's `program`; None for an export that failed."""
    spec = program.spec
    text = exported.stablehlo.encode() if exported else None
    return {
        "name": program.name,
        "workload": spec.workload["name"],
        "model": spec.workload["model"],
        "backend": spec.backend["name"],
        "engine": spec.backend["engine"],
        "step": program.step,
        "precision": spec.precision,
        "devices": spec.replicas,
        "global_batch": program.global_batch,
        "shape": list(program.shape),
        "parameters": exported.parameters if exported else None,
        "flop_per_example": exported.flop.per_example if exported else None,
        "flop_counter": exported.flop.counter if exported else None,
        "replicas": exported.replicas if exported else None,
        "partitions": exported.partitions if exported else None,
        "stablehlo_sha256": hashlib.sha256(text).hexdigest() if text else None,
        "stablehlo_bytes": len(text) if text else None,
        "software": software(),
    }
