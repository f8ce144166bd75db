"""Measure matrix products of several shapes and precisions on the one device of a backend."""

import argparse
import importlib
from itertools import product
from pathlib import Path

from paragone.base.errors import Unavailable, UserError, entry_point
from paragone.config.product_plan import read_backend, read_shape
from paragone.machine import limits, load, process_entry
from paragone.microbenchmarks.framework_modules import module_of
from paragone.microbenchmarks.products.measure import TOLERANCES, measure, not_tried
from paragone.records.measurements import check_products, write


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Measure every case and write the result; a case that cannot run is an entry that says why."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", required=True, help="JSON: name, engine, strategy, device")
    parser.add_argument("--products", nargs="*", default=[], metavar="m,k,n")
    parser.add_argument("--squares", nargs="*", type=int, default=[], metavar="N")
    parser.add_argument("--precisions", nargs="+", choices=TOLERANCES, required=True)
    parser.add_argument("--repeats", type=int, required=True, help="timed runs of each product")
    parser.add_argument("--threads", type=int, required=True, help="CPU cores to use at most")
    parser.add_argument("--output", type=Path, required=True, help="result to write, JSON")
    options = parser.parse_args(arguments)
    if options.repeats < 1 or min([1, *options.squares]) < 1:
        raise UserError("--repeats and --squares: at least 1")

    backend = read_backend(options.backend)
    shapes = [read_shape(text) for text in options.products]
    shapes += [(size, size, size) for size in options.squares]
    neighbours = load.LoadWatch()
    threads = limits.claim_cores(options.threads)
    process = process_entry.process_entry(workers=1, threads=threads)
    remedy = "leave the backend out of matmul.backends"
    framework = importlib.import_module(
        module_of(backend["engine"], "products", "products", remedy)
    )
    cases = []
    try:
        device_name, missing = framework.open_device(backend["device"], threads), None
        process["machine"]["devices"] = [device_name]
    except Unavailable as error:
        device_name, missing = None, str(error)
        print(f"[{backend['name']}] unavailable: {missing}", flush=True)
    for precision, shape in product(options.precisions, dict.fromkeys(shapes)):
        if missing is None:
            cases.append(measure(framework, shape, precision, options.repeats))
            print(f"[{backend['name']}] {summary(cases[-1])}", flush=True)
        else:
            cases.append(not_tried(shape, precision, missing))
    process["load"] |= neighbours.stop()
    only_of_runs = ("rank", "workers", "first_epoch")
    write(
        {
            "schema": 1,
            "backend": backend,
            "device_name": device_name,
            "process": {key: process[key] for key in process if key not in only_of_runs},
            "repeats": options.repeats,
            "cases": cases,
        },
        options.output,
        check_products,
    )


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
    main()
