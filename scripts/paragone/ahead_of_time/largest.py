"""The largest batch of a device that a program fits with: two compilations, checked by a third or more."""

from dataclasses import replace
from typing import Any

from paragone.ahead_of_time.compilers import NoCompiler, Refused, Target
from paragone.ahead_of_time.compiling import compile_for
from paragone.ahead_of_time.exports import export
from paragone.config.compilations import Program
from paragone.records.compilations import COMPILED, NO_COMPILER, REFUSED, TOO_LARGE
from paragone.records.run_record import Json

FACTOR = 8  # between the batches of the first two compilations
CHECKS = 4  # compilations at what the line says, at most
CLOSE = 0.05  # the largest that fits and the least that does not are this close: enough


def search(program: Program, target: Target) -> list[Json]:
    """Every compilation that was tried, in order; the first two at the program's batch and eight times it.

    Each: per_device (examples), status, reason, total_bytes and excess_bytes, null where there are none.
    """
    first = program.spec.per_replica_batch
    tries = [_try(program, target, each) for each in (first, FACTOR * first)]
    for _ in range(CHECKS):
        if any(one["total_bytes"] is None for one in tries[:2]):
            break
        each = _next(tries, target["memory"])
        if each is None:
            break
        tries.append(_try(program, target, each))
    return tries


def _next(tries: list[Json], memory: float) -> int | None:
    """The batch to compile next; None where it is known well enough."""
    fits = max((one["per_device"] for one in tries if one["status"] == COMPILED), default=1)
    wrong = min((one["per_device"] for one in tries if one["status"] == TOO_LARGE), default=None)
    known = sorted(
        (one for one in tries if one["total_bytes"] is not None), key=lambda one: one["per_device"]
    )
    low, high = known[-2:]
    slope = (high["total_bytes"] - low["total_bytes"]) / (high["per_device"] - low["per_device"])
    if slope <= 0:  # tiles that both batches fill
        return FACTOR * high["per_device"] if wrong is None else None
    each = int(high["per_device"] + (memory - high["total_bytes"]) / slope)
    if wrong is not None:
        if wrong <= fits * (1 + CLOSE):
            return None
        each = min(each, int(wrong / (1 + CLOSE)))
    return each if each > fits * (1 + CLOSE) else None


def _try(program: Program, target: Target, each: int) -> Json:
    whole = each * program.spec.replicas
    exported = export(
        replace(program, spec=replace(program.spec, global_batch=whole, per_replica_batch=each))
    )
    found: dict[str, Any] = {"per_device": each, "reason": None}
    try:
        one = compile_for(target, exported.stablehlo, exported.replicas, exported.partitions)
    except NoCompiler as error:
        return found | {"status": NO_COMPILER, "reason": str(error), **_bytes(None, None)}
    except Refused as error:
        status = TOO_LARGE if error.excess_bytes else REFUSED
        return found | {
            "status": status,
            "reason": str(error),
            **_bytes(_total(target, error.excess_bytes), error.excess_bytes),
        }
    excess = int(one.memory.total - target["memory"])
    status = TOO_LARGE if excess > 0 else COMPILED
    return found | {"status": status, **_bytes(one.memory.total, max(excess, 0) or None)}


def _total(target: Target, excess: int | None) -> int | None:
    """What a program needs whose compiler says by how much it is too large."""
    return None if excess is None else int(target["memory"]) + excess


def _bytes(total: int | None, excess: int | None) -> Json:
    return {"total_bytes": total, "excess_bytes": excess}
