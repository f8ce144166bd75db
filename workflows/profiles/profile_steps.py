"""Profile some training steps of a run by its framework's own profiler: the ten costliest operations.

The run's own record, if there is one, is neither read nor written. All workers are processes of this host.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import msgspec

from paragone import data, engines
from paragone.base.atomic_files import write_json
from paragone.base.errors import Unavailable, UserError, entry_point, needing_packages
from paragone.base.processes import IN_FILE, end_process, in_file
from paragone.base.ranks import JOIN_TIMEOUT, World
from paragone.config.run_spec import Spec, requested
from paragone.data import Dataset
from paragone.data.batches import noise_batches, train_batches
from paragone.data.random_streams import framework_seed
from paragone.engines import Engine
from paragone.machine import cgroups, hardware, limits
from paragone.microbenchmarks.program import Measuring
from paragone.models.weights import Pretrained, read, starting
from paragone.records.measurements import MeasuringProcess
from paragone.training.loop import failure_of
from paragone.workers import supervisor
from paragone.workers.meeting_folder import meeting_folder
from paragone.workers.rendezvous import Rendezvous
from paragone.workers.run_options import add_options
from paragone.workers.worker_failure import judge
from profilers import PROFILERS, Operation, Profile
from step_profiles import CostlyOperation, ProfileRecord, StepProfile, write

PROFILE = "profile.json"  # of rank 0, in the folder where the workers meet
SECONDS = 1.0  # of the steps that are profiled
LEAST, MOST = 2, 300  # steps that are profiled; each leaves thousands of events in memory
SHOWN = 10

Profiler = Callable[[Callable[[], float], str], Profile]


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line; workers get that of the program, and `--rendezvous`."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars=IN_FILE)
    add_options(parser, "spec", "manifest", "data-folder", "weights", "threads")
    parser.add_argument("--output", required=True, type=Path, help="record to write, JSON")
    parser.add_argument("--rendezvous", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


@entry_point
def main() -> None:
    """Profile in processes of their own and write the record, also of a run that cannot be profiled."""
    options = parse(sys.argv[1:])
    spec = Spec.from_json(options.spec)
    if options.rendezvous:
        take_part(options, spec)
        return
    measuring = Measuring(options.threads)
    status, reason, profile = run_workers(options, spec)
    process = msgspec.convert(measuring.stop(), MeasuringProcess)
    write(ProfileRecord(spec.name, spec, process, status, reason, profile), options.output)
    said = f"{status}: {reason}" if profile is None else summary(profile)
    print(f"[{spec.name}] {said}", flush=True)


def run_workers(
    options: argparse.Namespace, spec: Spec
) -> tuple[str, str | None, StepProfile | None]:
    """Status, reason and profile of the run's workers. Raises as `worker_failure.judge` does."""
    if spec.backend.engine not in PROFILERS:
        return "no_profiler", f"engine {spec.backend.engine} has no profiler", None
    with meeting_folder(options.output.parent) as meeting:
        line = [sys.executable, __file__, in_file(again(options), meeting)]
        tuned, before = spec.tuning.variables, cgroups.memory_counts()
        line.append(f"--rendezvous={meeting}")
        if failed := supervisor.run(line, spec.workers, cores=options.threads, tuned=tuned):
            grown = zip(cgroups.memory_counts(), before, strict=True)
            full = all(now > then for now, then in grown)
            return *judge(failed, spec.workers, meeting, memory_was_full=full), None
        profile = json.loads((meeting / PROFILE).read_text(encoding="utf-8"))
    return "completed", None, msgspec.convert(profile, StepProfile)


def again(options: argparse.Namespace) -> list[str]:
    """The arguments that give a worker the same options."""
    values = {name.replace("_", "-"): value for name, value in vars(options).items()}
    return [f"--{name}={value}" for name, value in values.items() if value is not None]


def take_part(options: argparse.Namespace, spec: Spec) -> None:
    """Train and be profiled, as one worker."""
    meeting = Rendezvous(options.rendezvous, spec.workers, JOIN_TIMEOUT)
    with meeting.reporting():
        limits.claim_cores(options.threads)
        world = meeting.join()
        threads = limits.claim_cores(options.threads, world.core_rank, world.core_workers)
        if spec.backend.device == "cpu":
            limits.limit_memory(len(world.host_pids))
        dataset = data.load(options.manifest, options.data_folder)
        pretrained = read(options.weights, options.data_folder)
        engine = engines.create(spec)
        meeting.meet("devices", {"machine": hardware.describe()})
        try:
            with needing_packages():  # before anything is built: it may prepare its framework
                module = import_module(f"profilers.{PROFILERS[spec.backend.engine]}")
            profile = profile_steps(
                engine, module.profile, spec, dataset, threads, meeting, world, pretrained
            )
        except Exception as error:
            if (failure := failure_of(engine, error)) is None:
                raise
            give_up(meeting, *failure)
        if profile:
            write_json(msgspec.to_builtins(profile), options.rendezvous / PROFILE)
        meeting.meet("end", {})  # a framework takes a worker that leaves earlier for a failed one


def give_up(meeting: Rendezvous, status: str, reason: str) -> NoReturn:
    """End this worker; the program that started it writes why."""
    meeting.report(status, reason)
    sys.exit(1)


def profile_steps(
    engine: Engine,
    profiler: Profiler,
    spec: Spec,
    dataset: Dataset,
    threads: int,
    meeting: Rendezvous,
    world: World,
    pretrained: Pretrained | None = None,
) -> StepProfile | None:
    """Build the engine, warm it up, and train the same steps three times: alone, profiled, alone.

    Of several workers rank 0 is profiled; the others train the same steps and return None. Raises
    `Unavailable` without the devices, or where the profiler sees no operation, `UserError` if other devices
    are observed than requested, and what the framework raises.
    """
    engine.build(spec, dataset, threads, world)
    if engine.devices != requested(spec):
        raise UserError(f"{requested(spec)} asked for, but {engine.devices} observed")
    engine.set_weights(starting(engine.weights(), spec, pretrained)[0])
    seed = framework_seed(spec.seed, 1)
    engine.warm_up(spec.learning_rates(1, 1)[0], *noise_batches(dataset, spec, engine.shard))

    def train(steps: int) -> float:
        """The seconds of so many steps; the device is idle at both edges."""
        batches = train_batches(dataset, spec, 1, engine.shard, steps)
        begin = time.perf_counter()
        engine.train_epoch(seed, spec.learning_rates(1, steps), batches, steps)
        return time.perf_counter() - begin

    steps = LEAST
    for attempt in range(2):  # the first trial is short, and includes what only first steps cost
        own = {"steps": planned(train(steps) / steps)}
        steps = meeting.meet(f"steps-{attempt}", own)[0]["steps"]
        if steps == LEAST:
            break
    before = train(steps)
    if world.rank:
        for _ in range(2):  # epochs of their own: workers communicate at the end of each
            train(steps)
        return None
    profile = profiler(lambda: train(steps), spec.backend.device)
    return per_step(profile, steps, (before + train(steps)) / 2)


def planned(step: float) -> int:
    """How many steps of `step` seconds each are profiled."""
    return min(MOST, max(LEAST, round(SECONDS / step)))


def per_step(profile: Profile, steps: int, alone_seconds: float) -> StepProfile:
    """The costliest operations per step. Raises `Unavailable` if the profiler saw none."""
    whole = sum(operation.seconds for operation in profile.operations)
    if not whole:
        raise Unavailable(f"{profile.profiler} {profile.version} sees no operations here")

    def cost(operation: Operation) -> tuple[float, str]:
        return -operation.seconds, operation.name

    return StepProfile(
        profiler=profile.profiler,
        version=profile.version,
        operations_are=profile.operations_are,
        steps=steps,
        alone_milliseconds=1e3 * alone_seconds / steps,
        profiled_milliseconds=1e3 * profile.seconds / steps,
        operations=[
            CostlyOperation(
                operation.name,
                calls=operation.calls / steps,
                milliseconds=1e3 * operation.seconds / steps,
                share=operation.seconds / whole,
            )
            for operation in sorted(profile.operations, key=cost)[:SHOWN]
            if operation.seconds
        ],
        all_operations=len(profile.operations),
        all_milliseconds=1e3 * whole / steps,
    )


def summary(profile: StepProfile) -> str:
    """The profile for the log: a line on the steps, and one for each operation."""
    alone, profiled = profile.alone_milliseconds, profile.profiled_milliseconds
    lines = [f"{alone:.3g} ms per step, {profiled:.3g} ms under {profile.profiler}"]
    lines += [
        f"{each.milliseconds:9.3f} ms {each.share:4.0%} {each.calls:7.1f} x {each.name}"
        for each in profile.operations
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
    end_process()
