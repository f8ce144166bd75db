"""The record of a compilation: for what a program was compiled, and what became of it."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from paragone.ahead_of_time.collectives import counted
from paragone.ahead_of_time.compilers import NoCompiler, Refused, Target
from paragone.base.errors import Unavailable, needing_packages
from paragone.machine.process_entry import software
from paragone.records.compilations import (
    COMPILED,
    NO_COMPILER,
    NOT_EXPORTED,
    REFUSED,
    TOO_LARGE,
)
from paragone.records.run_record import Json

if TYPE_CHECKING:
    from paragone.ahead_of_time.compiling import Compiled


def compilation_record(entry: Json, stablehlo: str, target: Target) -> Json:
    """Compile the module of a program's `entry` for the target; the record, whatever happens."""
    found = _nothing("", "")
    if not stablehlo:
        found = _nothing(NOT_EXPORTED, entry["reason"])
    else:
        try:
            with needing_packages():
                from paragone.ahead_of_time.compiling import compile_for

            found = _compiled(
                compile_for(target, stablehlo, entry["replicas"], entry["partitions"]), target
            )
        except (NoCompiler, Unavailable) as error:
            found = _nothing(NO_COMPILER, str(error))
        except Refused as error:
            status = TOO_LARGE if error.excess_bytes else REFUSED
            found = _nothing(status, str(error)) | {"excess_bytes": error.excess_bytes}
    program = {key: value for key, value in entry.items() if key != "reason"}
    return {
        "schema": 1,
        "program": program,
        "target": target,
        **found,
        "software": software(),
    }


def _nothing(status: str, reason: str) -> Json:
    return {
        "status": status,
        "reason": reason,
        "compile_seconds": None,
        "cost": None,
        "memory": None,
        "fits": False if status == TOO_LARGE else None,
        "excess_bytes": None,
        "collectives": [],
    }


def _compiled(one: "Compiled", target: Target) -> dict[str, Any]:
    total = one.memory.total
    excess = int(total - target["memory"])
    return {
        "status": COMPILED,
        "reason": None,
        "compile_seconds": one.seconds,
        "cost": {
            "flop": one.flop,
            "bytes_accessed": one.bytes_accessed,
            "memory_traffic": one.memory_traffic,
            "transcendentals": one.transcendentals,
            "estimated_seconds": one.estimated_seconds,
        },
        "memory": {**asdict(one.memory), "total": total},
        "fits": excess <= 0,
        "excess_bytes": excess if excess > 0 else None,
        "collectives": counted(one.collectives),
    }
