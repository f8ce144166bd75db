"""Profile some training steps of a run by its framework's own profiler: the ten costliest operations.

The run's own record, if there is one, is neither read nor written. All workers are processes of this host.
"""

import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from paragone.base.errors import Unavailable, entry_point, needing_packages
from paragone.base.processes import end_process
from paragone.base.typed_json import read, read_job, write, write_job
from paragone.data.batches import train_batches
from paragone.data.random_streams import framework_seed
from paragone.engines import learning_rates
from paragone.machine.process_entry import Measuring
from paragone.training.loop import Ledger, Worker, build, failure_of, warm_up
from paragone.training.worker import join
from paragone.workers import WorkerJob, supervisor
from paragone.workers.rendezvous import Rendezvous, meeting_folder
from paragone.workers.worker_failure import run_workers
from profilers import PROFILERS, Operation, Profile
from step_profiles import CostlyOperation, ProfileRecord, StepProfile

PROFILE = "profile.json"  # of rank 0, in the folder where the workers meet
SECONDS = 1.0  # of the steps that are profiled
LEAST, MOST = 2, 300  # steps that are profiled; each leaves thousands of events in memory
SHOWN = 10

Profiler = Callable[[Callable[[], float], str], Profile]


class ProfileJob(WorkerJob, kw_only=True):
    """The run whose steps are profiled, and the record to write; `pythons`: see `interpreters.python_of`."""

    pythons: tuple[Path, ...] = ()
    profile: Path


@entry_point
def main() -> None:
    """Profile in processes of their own and write the record, also of a run that cannot be profiled."""
    job: ProfileJob = read_job(ProfileJob)
    if job.rendezvous:
        take_part(job, job.rendezvous)
        return
    spec = job.spec
    measuring = Measuring(job.threads)
    try:
        supervisor.hand_over(job, __file__)
        status, reason, profile = outcome(job)
    except Unavailable as error:
        status, reason, profile = "unavailable", str(error), None
    record = ProfileRecord(spec.name, spec, measuring.stop(), status, reason, profile)
    write(record, job.profile)
    said = f"{status}: {reason}" if profile is None else summary(profile)
    print(f"[{spec.name}] {said}", flush=True)


def outcome(job: ProfileJob) -> tuple[str, str | None, StepProfile | None]:
    """Status, reason and profile of the run's workers. Raises as `worker_failure.judge` does."""
    spec = job.spec
    if spec.backend.engine not in PROFILERS:
        return "no_profiler", f"engine {spec.backend.engine} has no profiler", None
    with meeting_folder(job.profile.parent) as meeting:
        path = write_job(replace(job, rendezvous=meeting), meeting)
        line = [sys.executable, __file__, str(path)]
        if failure := run_workers(line, spec, meeting, cores=job.threads):
            return *failure, None
        return "completed", None, read(StepProfile, meeting / PROFILE, "profile")


def take_part(job: ProfileJob, folder: Path) -> None:
    """Train and be profiled, as one worker."""
    spec, meeting = job.spec, Rendezvous(folder, job.spec.workers, job.join_timeout)
    with meeting.reporting():
        worker = join(job, meeting, Ledger())
        try:
            with needing_packages():  # before anything is built: it may prepare its framework
                module = import_module(f"profilers.{PROFILERS[spec.backend.engine]}")
            profile = profile_steps(worker, module.profile, meeting)
        except Exception as error:
            if (failure := failure_of(worker.engine, error)) is None:
                raise
            meeting.report(*failure)  # the program that started this worker writes why
            sys.exit(1)
        if profile:
            write(profile, folder / PROFILE)
        meeting.meet("end", {})  # a framework takes a worker that leaves earlier for a failed one


def profile_steps(worker: Worker, profiler: Profiler, meeting: Rendezvous) -> StepProfile | None:
    """Build the engine, warm it up, and train the same steps three times: alone, profiled, alone.

    Of several workers rank 0 is profiled; the others train the same steps and return None. Raises
    `Unavailable` where the profiler sees no operation, and as `loop.build` does.
    """
    build(worker)
    warm_up(worker)
    engine, spec, seed = worker.engine, worker.spec, framework_seed(worker.spec.seed, 1)

    def train(steps: int) -> float:
        """The seconds of so many steps; the device is idle at both edges."""
        batches = train_batches(worker.dataset, spec, 1, engine.shard, steps)
        begin = time.perf_counter()
        engine.train_epoch(seed, learning_rates(spec, 1, 1) * steps, batches, steps)
        return time.perf_counter() - begin

    steps = LEAST
    for attempt in range(2):  # the first trial is short, and includes what only first steps cost
        plan = {"steps": planned(train(steps) / steps)}
        steps = meeting.meet(f"steps-{attempt}", plan)[0]["steps"]
        if steps == LEAST:
            break
    before = train(steps)
    if worker.world.rank:
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
        f"{operation.milliseconds:9.3f} ms {operation.share:4.0%} {operation.calls:7.1f} x {operation.name}"
        for operation in profile.operations
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
    end_process()
