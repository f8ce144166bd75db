"""Profile some training steps of a run by its framework's own profiler: the ten costliest operations.

The run's own record, if there is one, is neither read nor written. All workers are processes of this host.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NoReturn

from paragone import data, engines
from paragone.base import plugins
from paragone.base.atomic_files import write_json
from paragone.base.errors import Unavailable, entry_point, needing_packages
from paragone.base.process_end import end_process
from paragone.base.ranks import JOIN_TIMEOUT
from paragone.config.profilers import profiler_of
from paragone.config.run_spec import Spec
from paragone.machine import cgroups, hardware, limits
from paragone.microbenchmarks.program import Measuring
from paragone.models.initial_weights import read
from paragone.records.measurements import write
from paragone.records.profiles import check_profile
from paragone.training.failures import failure_of
from paragone.training.profiling import profile_steps
from paragone.workers import supervisor
from paragone.workers.meeting_folder import meeting_folder
from paragone.workers.rendezvous import Rendezvous
from paragone.workers.worker_failure import judge

FOUND = "found.json"  # of rank 0, where the workers meet
NOTHING: dict[str, Any] = {
    **dict.fromkeys(["profiler", "steps", "step_milliseconds", "all_operations"]),
    "operations": [],
    "operations_are": None,
}


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line; the workers have that of the program and `--rendezvous`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", required=True, help="specification of the run, JSON")
    parser.add_argument("--manifest", required=True, type=Path, help="manifest of its data set")
    parser.add_argument(
        "--data-folder", required=True, type=Path, help="`data.folder` of the config"
    )
    parser.add_argument("--weights", type=Path, help="file that scripts/fetch.py --model wrote")
    parser.add_argument("--threads", required=True, type=int, help="CPU cores to use at most")
    parser.add_argument("--output", required=True, type=Path, help="result to write, JSON")
    parser.add_argument("--rendezvous", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


@entry_point
def main() -> None:
    """Profile in processes of their own, and write the result; a run that cannot is one that says why."""
    options = parse(sys.argv[1:])
    spec = Spec.from_json(options.spec)
    module = profiler_of(spec.backend["engine"])
    if options.rendezvous:
        take_part(options, spec, str(module))
        return
    measuring = Measuring(options.threads)
    if module is None:
        reason = f"engine {spec.backend['engine']} has no profiler"
        found = {"status": "no_profiler", "reason": reason, **NOTHING}
    else:
        found = run_workers(options, spec)
    result = {
        "schema": 1,
        "run": spec.name,
        "spec": json.loads(spec.to_json()),
        "process": measuring.stop(),
        **found,
    }
    write(result, options.output, check_profile)
    print(f"[{spec.name}] {summary(found)}", flush=True)


def run_workers(options: argparse.Namespace, spec: Spec) -> dict[str, Any]:
    """What the workers of the run found, or why they did not. Raises as `worker_failure.judge` does."""
    line = [sys.executable, __file__, *sys.argv[1:]]
    with meeting_folder(options.output.parent) as meeting:
        tuned, before = spec.tuning.get("variables", {}), cgroups.memory_counts()
        line.append(f"--rendezvous={meeting}")
        if failed := supervisor.run(line, spec.workers, cores=options.threads, tuned=tuned):
            grown = zip(cgroups.memory_counts(), before, strict=True)
            full = all(now > then for now, then in grown)
            status, reason = judge(failed, spec.workers, meeting, memory_was_full=full)
            return {"status": status, "reason": reason, **NOTHING}
        found = json.loads((meeting / FOUND).read_text(encoding="utf-8"))
    return {"status": "completed", "reason": None, **found}


def take_part(options: argparse.Namespace, spec: Spec, module: str) -> None:
    """Train and be profiled, as one worker."""
    meeting = Rendezvous(options.rendezvous, spec.workers, JOIN_TIMEOUT)
    with meeting.reporting():
        limits.claim_cores(options.threads)
        world = meeting.join()
        threads = limits.claim_cores(options.threads, world.core_rank, world.core_workers)
        if spec.backend["device"] == "cpu":
            limits.limit_memory(len(world.host_pids))
        dataset = data.load(options.manifest, options.data_folder)
        pretrained = read(options.weights, options.data_folder)
        engine = engines.create(spec)
        meeting.meet("devices", {"machine": hardware.describe()})
        try:
            with needing_packages():  # before anything is built: it may prepare its framework
                profile = plugins.load("engines", module).profile
            found = profile_steps(
                engine, profile, spec, dataset, threads, meeting, world, pretrained
            )
        except Unavailable as error:
            give_up(meeting, "unavailable", str(error))
        except Exception as error:
            if (failure := failure_of(engine, error)) is None:
                raise
            give_up(meeting, *failure)
        if world.rank == 0:
            write_json(found, options.rendezvous / FOUND)
        meeting.meet("end", {})  # a framework takes a worker that leaves earlier for a failed one


def give_up(meeting: Rendezvous, status: str, reason: str) -> NoReturn:
    """End this worker; the program that started it writes why."""
    meeting.report(status, reason)
    sys.exit(1)


def summary(found: dict[str, Any]) -> str:
    """What was found, for the log: a line on the steps, and one for each operation."""
    if found["status"] != "completed":
        return f"{found['status']}: {found['reason']}"
    alone, profiled = found["step_milliseconds"].values()
    lines = [f"{alone:.3g} ms per step, {profiled:.3g} ms under {found['profiler']['name']}"]
    lines += [
        f"{one['milliseconds']:9.3f} ms {one['share']:4.0%} {one['calls']:7.1f} x {one['name']}"
        for one in found["operations"]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
    end_process()
