"""The one timing loop of all all-reduces, in every process of a group, and the proof that each is right."""

import importlib
import time
from typing import Any

import numpy as np

from paragone.base.errors import Unavailable, UserError, needing_packages
from paragone.base.ranks import World
from paragone.microbenchmarks.all_reduces import Group

BYTES = 4  # of a float32
# A timed run repeats short all-reduces. Every process must count alike: by size, never by the clock.
_CALLS, _BYTES_A_RUN = 20, 1 << 22
_WARM_UP = 3


def measure(
    module: str,
    backend: dict[str, str],
    replicas: int,
    world: World,
    sizes: list[int],
    repeats: int,
    threads: int,
) -> dict[str, Any]:
    """The result of one process: its devices, and one case per size (rules/schemas/allreduce.schema.json).

    module: of the framework, by its dotted name; `sizes`: bytes per replica. Raises `UserError` when a sum
    is wrong.
    """
    try:
        with needing_packages():
            framework: Any = importlib.import_module(module)
        group = framework.open_group(backend, replicas, world, threads)
    except Unavailable as error:
        return {"status": "unavailable", "reason": str(error), "devices": [], "cases": []}
    return {
        "status": "completed",
        "reason": None,
        "devices": group.device_names,
        "cases": [_case(group, replicas, size, repeats) for size in sizes],
    }


def _case(group: Group, replicas: int, size: int, repeats: int) -> dict[str, Any]:
    elements = size // BYTES
    expected = np.full(elements, replicas * (replicas + 1) / 2, np.float32)
    for found in group.fetch(group.all_reduce(group.put(elements))):
        if not np.array_equal(found, expected):
            raise UserError(
                f"all-reduce of {size} bytes over {replicas} replicas: not the sum; no time is given"
            )
    calls = max(1, min(_CALLS, _BYTES_A_RUN // size))
    vectors = group.put(elements)
    for _ in range(_WARM_UP):
        _run(group, vectors, calls)
    return {
        "bytes": size,
        "calls": calls,
        "runs": [_run(group, vectors, calls) for _ in range(repeats)],
    }


def _run(group: Group, vectors: Any, calls: int) -> float:
    """Seconds of `calls` all-reduces, one after the other."""
    start = time.perf_counter()
    for _ in range(calls):
        sums = group.all_reduce(vectors)
    group.wait(sums)
    return time.perf_counter() - start
