"""Results of matrix products made by hand, valid against their schema."""

from unit.make_processes import make_load, make_machine

from paragone.analysis import product_tables
from paragone.base import typed_json
from paragone.records import measurements


def make_case(shape, precision="float32", gflops=(), status="completed", reason=None):
    m, k, n = shape
    flop = 2 * m * k * n
    return {
        "shape": list(shape),
        "precision": precision,
        "flop": flop,
        "status": status,
        "reason": reason if status == "completed" else reason or f"it was {status}",
        "calls": 2 if gflops else None,
        "runs": [2 * flop / (speed * 1e9) for speed in gflops],
        "relative_error": 1e-7 if gflops else None,
    }


def make_result(backend, cases, device="cpu", host="node-1"):
    made = {
        "schema": 1,
        "backend": {"name": backend, "engine": "torch", "strategy": "single", "device": device},
        "device_name": device,
        "process": {
            "started": "2026-01-01T00:00:00+00:00",
            "machine": make_machine(host),
            "cores": 2,
            "threads": 2,
            "software": {"python": "3.11.9"},
            "git": None,
            "load": make_load(),
        },
        "repeats": 3,
        "cases": cases,
    }
    typed_json.typed(measurements.Products, made)
    return made


PUBLISHED = (10000, 100, 100000)


def varied():
    """Three backends: one whole, one out of memory at the published product, one without bfloat16."""
    squares = {256: (90, 100, 95), 512: (150, 160, 155), 1024: (400, 120, 130)}
    whole = [make_case((size,) * 3, gflops=speeds) for size, speeds in squares.items()]
    half = [make_case((size,) * 3, "bfloat16", speeds) for size, speeds in squares.items()]
    none = [make_case((size,) * 3, "bfloat16", status="unavailable") for size in squares]
    published = make_case(PUBLISHED, gflops=(50, 40, 45))
    full = make_case(PUBLISHED, status="out_of_memory")
    large = make_case((1024,) * 3, status="out_of_memory")
    return [
        make_result("torch", [published, *whole, *half]),
        make_result("tensorflow-mirrored", [full, *whole[:2], large, *half]),
        make_result("torch-xla", [published, *whole, *none]),
    ]


def table_of(made):
    """The table of made results."""
    return product_tables.table([typed_json.typed(measurements.Products, one) for one in made])


def varied_table():
    return table_of(varied())
