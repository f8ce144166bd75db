"""Measure the cost of a backend's all-reduce for several numbers of replicas on this host."""

import argparse
import sys
from pathlib import Path

from paragone.base.errors import UserError, entry_point
from paragone.base.processes import end_process
from paragone.base.ranks import World
from paragone.config.strategies import workers_of
from paragone.microbenchmarks.all_reduces import group
from paragone.microbenchmarks.all_reduces.measure import BYTES, measure
from paragone.microbenchmarks.program import Measuring, measuring_parser, module_of
from paragone.records.measurements import check_all_reduces, write

TIMEOUT = 300.0  # seconds for all sizes of one number of replicas, imports included


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line; the processes of a group have that of the program and `--rendezvous`."""
    parser = measuring_parser(__doc__)
    parser.add_argument("--replicas", nargs="+", type=int, required=True, metavar="N")
    parser.add_argument("--bytes", nargs="+", type=int, required=True, help="per replica")
    parser.add_argument(
        "--timeout", type=float, default=TIMEOUT, help="seconds per number of replicas"
    )
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
    backend = options.backend
    remedy = "take `scaling` from the figures of its experiments"
    module = module_of(backend["engine"], "all_reduces", "all-reduce", remedy)
    if options.rendezvous:
        take_part(options, module)
        return
    measuring = Measuring(options.threads)
    groups = []
    for replicas in options.replicas:
        line = [sys.executable, __file__, *arguments, f"--replicas={replicas}"]
        workers = workers_of(backend["engine"], backend["strategy"], replicas)
        found = group.run(line, workers, options.timeout, options.output.parent)
        groups.append({"replicas": replicas, "workers": workers, **found})
        print(f"[{backend['name']} x{replicas}] {summary(groups[-1])}", flush=True)
    write(
        {
            "schema": 1,
            "backend": backend,
            "process": measuring.stop(),
            "repeats": options.repeats,
            "groups": groups,
        },
        options.output,
        check_all_reduces,
    )


def take_part(options: argparse.Namespace, module: str) -> None:
    """Measure, as one process of a group."""
    backend, (replicas,) = options.backend, options.replicas

    def work(world: World) -> dict:
        threads = max(1, options.threads // world.workers)
        return measure(module, backend, replicas, world, options.bytes, options.repeats, threads)

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
    end_process()
