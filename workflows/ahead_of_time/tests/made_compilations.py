"""Records of compilations, made up: eight devices of a made machine with round peaks."""

from typing import Any

import msgspec

from ahead_of_time.records import Compilation, MeasuredStep

DEVICE = {
    "name": "made",
    "flops": {"float32": 1e12},
    "memory": 1e9,
    "memory_bandwidth": 1e11,
    "link_bandwidth": 1e10,
    "sources": dict.fromkeys(("flops", "memory", "memory_bandwidth", "link_bandwidth"), "made up"),
}
STEP = {
    "name": "fashion-cnn.jax.r8.b1024.s0.00000000",
    "workload": "fashion-cnn",
    "model": {"name": "fashion-cnn"},
    "backend": "jax",
    "precision": "float32",
    "devices": 8,
    "global_batch": 1024,
    "exported": {
        "replicas": 1,
        "partitions": 8,
        "parameters": 21_900,
        "flop_per_example": 2_000_000,
    },
}
COST = {
    "flop": 3e8,
    "memory_traffic": 1e8,
    "memory": 5700,
    "collectives": [{"kind": "all-reduce", "bytes": 80_000, "group": 8, "count": 1}],
}


def compilation(
    step: dict | None = None,
    device: dict | None = None,
    cost: dict | None = None,
    **changes: Any,
) -> Compilation:
    """A record of 256 MFLOP, 100 MB of traffic and an all-reduce of 80 kB, on each of 8 devices."""
    step = STEP | (step or {})
    target = {"label": f"{step['devices']} made devices", "compiler": "tpu", "topology": "made"}
    target |= {"devices": step["devices"], "device": DEVICE | (device or {})}
    about = {"status": "compiled", "seconds": 1.5, "cost": COST | (cost or {})}
    record = {"step": step, "target": target, "software": {"libtpu": "0"}, **about, **changes}
    return msgspec.convert(record, Compilation)


def refused(status: str, reason: str) -> Compilation:
    """A record without numbers."""
    record = compilation()
    return msgspec.structs.replace(record, status=status, reason=reason, seconds=None, cost=None)


def over(devices: int, batch: int) -> Compilation:
    """The record of so many devices: FLOP and traffic divide, the all-reduce does not."""
    collectives = [{"kind": "all-reduce", "bytes": 80_000, "group": devices, "count": 1}]
    cost = {"memory_traffic": 1e5 * batch / devices, "collectives": collectives, "flop": None}
    return compilation(step={"devices": devices, "global_batch": batch}, cost=cost)


def measured() -> MeasuredStep:
    """0.25 GFLOP and 100 MB in each step of 40 ms; 100 GFLOP/s, memory of 10 GB/s."""
    step, cost = {**STEP, "devices": 1, "global_batch": 125}, {**COST, "collectives": []}
    speeds = {"product": {"amount": 1e10, "runs": [0.1, 0.2, 0.1]}}
    speeds |= {"triad": {"amount": 1e9, "runs": [0.1, 0.1, 0.1]}}
    record = {"step": step, "cost": cost, "calls": 5, "runs": [0.2, 0.2, 0.2], **speeds}
    return msgspec.convert(record, MeasuredStep)
