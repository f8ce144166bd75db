"""Measure matrix products of several shapes and precisions on the one device of a backend.

Square products are measured in every precision asked for, the others in float32, as published.
"""

import argparse
import importlib
from importlib.util import find_spec
from pathlib import Path

from paragone.base.errors import Unavailable, UserError, entry_point, needing_packages
from paragone.base.processes import IN_FILE, end_process, take_environment
from paragone.base.typed_json import Count, of_option, typed, write
from paragone.config.run_spec import Backend
from paragone.microbenchmarks.products.measure import TOLERANCES, measure_all, not_tried
from paragone.microbenchmarks.program import Measuring
from paragone.records.measurements import Products


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Measure every case and write the result; a case that cannot run is an entry that says why."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars=IN_FILE)
    parser.add_argument("--backend", required=True, help="JSON: name, engine, strategy, device")
    parser.add_argument("--repeats", type=int, required=True, help="timed runs of each case")
    parser.add_argument("--threads", type=int, required=True, help="CPU cores to use at most")
    parser.add_argument("--output", type=Path, required=True, help="result to write, JSON")
    parser.add_argument("--products", default="[]", help="JSON: a list of [m, k, n]")
    parser.add_argument("--squares", nargs="*", type=int, default=[], metavar="N")
    parser.add_argument("--precisions", nargs="+", choices=TOLERANCES, required=True)
    options = parser.parse_args(arguments)
    if options.repeats < 1 or min([1, *options.squares]) < 1:
        raise UserError("--repeats and --squares: at least 1")
    backend = of_option(Backend, options.backend, "--backend")
    products = of_option(list[tuple[Count, Count, Count]], options.products, "--products")
    shapes = {"float32": products} if products else {}  # by precision
    for precision in options.precisions:
        squares = [(size, size, size) for size in options.squares]
        shapes[precision] = list(dict.fromkeys([*shapes.get(precision, []), *squares]))
    measuring = Measuring(options.threads)
    module = f"paragone.microbenchmarks.products.{backend.engine}"
    if find_spec(module) is None:
        raise UserError(
            f"--backend: no products for engine {backend.engine!r}; add "
            f"scripts/paragone/microbenchmarks/products/{backend.engine}.py or leave the backend out of "
            "matmul.backends"
        )
    cases = []
    try:
        with needing_packages():
            framework = importlib.import_module(module)
        device_name, missing = framework.open_device(backend.device, measuring.threads), None
    except Unavailable as error:
        device_name, missing = None, str(error)
        print(f"[{backend.name}] unavailable: {missing}", flush=True)
    for precision, wanted in shapes.items():
        if missing is not None:
            cases += [not_tried(shape, precision, missing) for shape in wanted]
            continue
        for case in measure_all(framework, wanted, precision, options.repeats):
            cases.append(case)
            print(f"[{backend.name}] {summary(case)}", flush=True)
    result = {
        "schema": 1,
        "backend": backend,
        "device_name": device_name,
        "process": measuring.stop(),
        "repeats": options.repeats,
        "cases": cases,
    }
    write(typed(Products, result), options.output)


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
