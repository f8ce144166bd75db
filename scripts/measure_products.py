"""Measure matrix products of several shapes and precisions on the one device of a backend.

Square products are measured in every precision asked for, the others in float32, as published.
"""

from pathlib import Path

from paragone.base.errors import Unavailable, UserError, entry_point, needing_packages
from paragone.base.processes import end_process, take_environment
from paragone.base.typed_json import Count, Job, read_job, typed, write
from paragone.config.run_spec import Backend, Operands
from paragone.machine.process_entry import Measuring
from paragone.microbenchmarks.products import FRAMEWORKS, case_of, measure_all
from paragone.records.measurements import Products
from paragone.workers import supervisor


class Multiplication(Job, kw_only=True):
    """The products to measure: `products` (m, k) @ (k, n) as [m, k, n], `squares` by their sides.

    `repeats`: timed runs of each. `threads`: CPU cores to use at most. `pythons`: see
    `interpreters.python_of`.
    """

    backend: Backend
    products: tuple[tuple[Count, Count, Count], ...] = ()
    squares: tuple[Count, ...] = ()
    precisions: list[Operands]
    repeats: Count
    threads: int
    pythons: tuple[Path, ...] = ()
    result: Path


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Measure every case and write the result; a case that cannot run is an entry that says why."""
    job: Multiplication = read_job(Multiplication, arguments)
    backend = job.backend
    shapes: dict[str, list[tuple[Count, Count, Count]]] = {}  # by precision
    if job.products:
        shapes["float32"] = [*job.products]
    for name in job.precisions:
        squares = [(size, size, size) for size in job.squares]
        shapes[name] = list(dict.fromkeys([*shapes.get(name, []), *squares]))
    measuring = Measuring(job.threads)
    if backend.engine not in FRAMEWORKS:
        raise UserError(
            f"backend: no products for engine {backend.engine!r}; add it to FRAMEWORKS of "
            "scripts/paragone/microbenchmarks/products.py or leave the backend out of matmul.backends"
        )
    cases = []
    try:
        supervisor.hand_over(job, __file__)
        with needing_packages():
            framework = FRAMEWORKS[backend.engine](backend.device, measuring.threads)
        device_name, missing = framework.device_name, ""
    except Unavailable as error:
        device_name, missing = None, str(error)
        print(f"[{backend.name}] unavailable: {missing}", flush=True)
    for precision, products_of in shapes.items():
        if missing:
            cases += [case_of(shape, precision, "unavailable", missing) for shape in products_of]
            continue
        for case in measure_all(framework, products_of, precision, job.repeats):
            cases.append(case)
            print(f"[{backend.name}] {summary(case)}", flush=True)
    result = {
        "schema": 1,
        "backend": backend,
        "device_name": device_name,
        "process": measuring.stop(),
        "repeats": job.repeats,
        "cases": cases,
    }
    write(typed(Products, result), job.result)


def summary(case: dict) -> str:
    """One line about a case, for the log."""
    m, k, n = case["shape"]
    name = f"({m}, {k}) @ ({k}, {n}) {case['precision']}"
    if case["status"] != "completed":
        return f"{name}: {case['status']}: {case['reason']}"
    fastest, slowest = (pick(case["runs"]) / case["calls"] for pick in (min, max))
    speeds = [case["flop"] / seconds / 1e9 for seconds in (slowest, fastest)]
    return (
        f"{name}: {speeds[0]:,.1f} to {speeds[1]:,.1f} GFLOP/s in {len(case['runs'])} runs "
        f"of {case['calls']}, relative error {case['relative_error']:.1e}"
    )


if __name__ == "__main__":
    take_environment()
    main()
    end_process()
