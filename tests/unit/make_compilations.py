"""Records of compilations, made up: one device of a made machine with round peaks."""

import copy
from typing import Any

TARGET = {
    "name": "made-8",
    "label": "8 made devices",
    "device": "made",
    "compiler": "tpu",
    "topology": "made:2x4",
    "devices": 8,
    "flops": {"float32": 1e12},
    "memory": 1e9,
    "memory_bandwidth": 1e11,
    "link_bandwidth": 1e10,
    "cache": 0,
    "per_chip": 1,
    "sources": dict.fromkeys(("flops", "memory", "memory_bandwidth", "link_bandwidth"), "made up"),
}
PROGRAM = {
    "name": "fashion-cnn.jax.train.n8.b1024.00000000",
    "workload": "fashion-cnn",
    "model": {"name": "fashion-cnn"},
    "backend": "jax",
    "engine": "jax",
    "step": "train",
    "precision": "float32",
    "devices": 8,
    "global_batch": 1024,
    "shape": [28, 28, 1],
    "parameters": 21_900,
    "flop_per_example": 2_000_000,
    "flop_counter": "made up",
    "replicas": 1,
    "partitions": 8,
    "stablehlo_sha256": "0" * 64,
    "stablehlo_bytes": 1000,
    "software": {"jax": "0"},
}


def compilation(**changes: Any) -> dict[str, Any]:
    """A record of 256 MFLOP, 100 MB of traffic and an all-reduce of 80 kB, on each of 8 devices.

    `changes`: of its keys; of `program`, `target` and `cost` single keys in them.
    """
    record: dict[str, Any] = {
        "schema": 1,
        "program": PROGRAM,
        "target": TARGET,
        "status": "compiled",
        "reason": None,
        "compile_seconds": 1.5,
        "cost": {
            "flop": 3e8,
            "bytes_accessed": 2e8,
            "memory_traffic": 1e8,
            "transcendentals": 10.0,
            "estimated_seconds": None,
        },
        "memory": {
            "arguments": 500,
            "outputs": 400,
            "aliased": 300,
            "temporary": 5000,
            "code": 100,
            "total": 5700,
        },
        "fits": True,
        "excess_bytes": None,
        "collectives": [{"kind": "all-reduce", "bytes": 80_000, "group": 8, "count": 1}],
        "software": {"jaxlib": "0", "libtpu": "0"},
    }
    record = copy.deepcopy(record)
    for key, value in changes.items():
        nested = key in ("program", "target", "cost") and isinstance(value, dict)
        record[key] = {**record[key], **value} if nested else value
    return record


def refused(status: str, reason: str, **changes: Any) -> dict[str, Any]:
    """A record without numbers."""
    nothing = {"compile_seconds": None, "cost": None, "memory": None, "fits": None}
    return compilation(**nothing, collectives=[], status=status, reason=reason, **changes)
