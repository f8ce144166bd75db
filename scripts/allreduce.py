"""Measure what a backend's all-reduce costs, over several numbers of replicas on this host."""

import argparse
from pathlib import Path

from paragone.base.errors import UserError, entry_point
from paragone.config.product_plan import read_backend
from paragone.machine import limits, load, process_entry
from paragone.microbenchmarks.all_reduces import WORKERS, Place, workers
from paragone.microbenchmarks.all_reduces.measure import BYTES, measure
from paragone.records.measurements import check_all_reduces, write

TIMEOUT = 300.0  # seconds for all sizes of one number of replicas, imports included
ONLY_OF_RUNS = ("rank", "workers", "first_epoch")


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Measure every number of replicas in processes of its own, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", required=True, help="JSON: name, engine, strategy, device")
    parser.add_argument("--replicas", nargs="+", type=int, required=True, metavar="N")
    parser.add_argument("--bytes", nargs="+", type=int, required=True, help="of each replica")
    parser.add_argument("--repeats", type=int, required=True, help="timed runs of each size")
    parser.add_argument("--threads", type=int, required=True, help="CPU cores to use at most")
    parser.add_argument(
        "--timeout", type=float, default=TIMEOUT, help="seconds, each replica count"
    )
    parser.add_argument("--output", type=Path, required=True, help="result to write, JSON")
    options = parser.parse_args(arguments)
    if min(options.repeats, *options.replicas) < 1:
        raise UserError("--repeats and --replicas: at least 1")
    if any(size < BYTES or size % BYTES for size in options.bytes):
        raise UserError(f"--bytes: {options.bytes}: a multiple of {BYTES}, the bytes of a float32")

    backend = read_backend(options.backend)
    neighbours = load.LoadWatch()
    threads = limits.claim_cores(options.threads)
    process = process_entry.process_entry(workers=1, threads=threads)
    groups = []
    for replicas in options.replicas:
        found = workers.run(
            measure_here,
            backend["strategy"],
            replicas,
            options.timeout,
            *(backend, options.bytes, options.repeats, threads),
        )
        groups.append({"replicas": replicas, **found})
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


def measure_here(
    place: Place, backend: dict[str, str], sizes: list[int], repeats: int, threads: int
) -> dict:
    """In a process of the group: its share of the cores, and what it measures."""
    alone = backend["strategy"] not in WORKERS
    each = threads if alone else max(1, threads // place.workers)
    return {"workers": place.workers, **measure(backend, place, sizes, repeats, each)}


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
