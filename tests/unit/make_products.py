"""Results of matrix products made by hand, valid against their schema."""

import math

from make_records import make_process

from paragone.analysis import product_tables
from paragone.base import typed_json
from paragone.microbenchmarks.products import case_of
from paragone.records import measurements


def make_case(shape, precision="float32", gflops=(), status="completed"):
    runs = [2 * 2 * math.prod(shape) / (speed * 1e9) for speed in gflops]
    numbers = {"calls": 2, "runs": runs, "relative_error": 1e-7} if gflops else {}
    reason = None if status == "completed" else f"it was {status}"
    return case_of(shape, precision, status, reason, **numbers)


def make_result(backend, cases):
    process = make_process(1, "node-1", 0)
    about = ("started", "machine", "cores", "threads", "software", "git", "load_before", "life")
    made = {
        "schema": 1,
        "backend": {"name": backend, "engine": "torch", "strategy": "single", "device": "cpu"},
        "device_name": "cpu",
        "process": {key: process[key] for key in about},
        "repeats": 3,
        "cases": cases,
    }
    typed_json.typed(measurements.Products, made)
    return made


PUBLISHED = (10000, 100, 100000)


def varied_table():
    """Three backends: one whole, one out of memory at the published product, one without bfloat16."""
    squares = {256: (90, 100, 95), 512: (150, 160, 155), 1024: (400, 120, 130)}
    whole = [make_case((size,) * 3, gflops=speeds) for size, speeds in squares.items()]
    half = [make_case((size,) * 3, "bfloat16", speeds) for size, speeds in squares.items()]
    none = [make_case((size,) * 3, "bfloat16", status="unavailable") for size in squares]
    published = make_case(PUBLISHED, gflops=(50, 40, 45))
    full = make_case(PUBLISHED, status="out_of_memory")
    large = make_case((1024,) * 3, status="out_of_memory")
    made = [
        make_result("torch", [published, *whole, *half]),
        make_result("tensorflow-mirrored", [full, *whole[:2], large, *half]),
        make_result("torch-xla", [published, *whole, *none]),
    ]
    return table_of(made)


def table_of(made):
    """The table of made results."""
    return product_tables.table([typed_json.typed(measurements.Products, one) for one in made])
