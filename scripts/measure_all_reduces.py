"""Measure the cost of a backend's all-reduce for several numbers of replicas on this host."""

import argparse
import importlib
import sys
from pathlib import Path

from paragone.base.errors import UserError, entry_point
from paragone.base.ranks import World
from paragone.config.product_plan import read_backend
from paragone.config.strategies import workers_of
from paragone.machine import limits, load, process_entry
from paragone.microbenchmarks.all_reduces import group
from paragone.microbenchmarks.all_reduces.measure import BYTES, measure
from paragone.microbenchmarks.framework_modules import module_of
from paragone.records.measurements import check_all_reduces, write

TIMEOUT = 300.0  # seconds for all sizes of one number of replicas, imports included
ONLY_OF_RUNS = ("rank", "workers", "first_epoch")


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line; the processes of a group have that of the program and `--rendezvous`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", required=True, help="JSON: name, engine, strategy, device")
    parser.add_argument("--replicas", nargs="+", type=int, required=True, metavar="N")
    parser.add_argument("--bytes", nargs="+", type=int, required=True, help="per replica")
    parser.add_argument("--repeats", type=int, required=True, help="timed runs of each size")
    parser.add_argument("--threads", type=int, required=True, help="CPU cores to use at most")
    parser.add_argument(
        "--timeout", type=float, default=TIMEOUT, help="seconds per number of replicas"
    )
    parser.add_argument("--output", type=Path, required=True, help="result to write, JSON")
    parser.add_argument("--rendezvous", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if min(options.repeats, *options.replicas) < 1:
        raise UserError("--repeats and --replicas: at least 1")
    if any(size < BYTES or size % BYTES for size in options.bytes):
        raise UserError(f"--bytes: {options.bytes}: a multiple of {BYTES}, the bytes of a float32")
    return options


@entry_point
def main() -> None:
    """Measure every number of replicas in processes of its own, and write the result."""
    arguments = sys.argv[1:]
    options = parse(arguments)
    backend = read_backend(options.backend)
    remedy = "take `scaling` from the figures of its experiments"
    module = module_of(backend["engine"], "all_reduces", "all-reduce", remedy)
    if options.rendezvous:
        take_part(options, backend, module)
        return
    neighbours = load.LoadWatch()
    threads = limits.claim_cores(options.threads)
    process = process_entry.process_entry(workers=1, threads=threads)
    groups = []
    for replicas in options.replicas:
        line = [sys.executable, __file__, *arguments, f"--replicas={replicas}"]
        workers = workers_of(backend["engine"], backend["strategy"], replicas)
        found = group.run(line, workers, options.timeout)
        groups.append({"replicas": replicas, "workers": workers, **found})
        print(f"[{backend['name']} x{replicas}] {summary(groups[-1])}", flush=True)
    process["load"] |= neighbours.stop()
    process["machine"].pop("devices")  # each group has its own
    write(
        {
            "schema": 1,
            "backend": backend,
            "process": {key: process[key] for key in process if key not in ONLY_OF_RUNS},
            "repeats": options.repeats,
            "groups": groups,
        },
        options.output,
        check_all_reduces,
    )


def take_part(options: argparse.Namespace, backend: dict[str, str], module: str) -> None:
    """Measure, as one process of a group."""
    (replicas,) = options.replicas

    def work(world: World) -> dict:
        threads = max(1, options.threads // world.workers)
        framework = importlib.import_module(module)
        return measure(framework, backend, replicas, world, options.bytes, options.repeats, threads)

    workers = workers_of(backend["engine"], backend["strategy"], replicas)
    group.take_part(options.rendezvous, workers, options.timeout, work)


def summary(group: dict) -> str:
    """One line about a group, for the log."""
    if group["status"] != "completed":
        return f"{group['status']}: {group['reason']}"
    fastest = [
        f"{case['bytes']:,} bytes {1e3 * min(case['runs']) / case['calls']:.3f} ms"
        for case in group["cases"]
    ]
    return f"fastest all-reduce: {', '.join(fastest)}"


if __name__ == "__main__":
    main()
