"""Train one run, as its only worker or as one of several, and write its record and predictions."""

import argparse
import hashlib
import math
import sys
import traceback
from pathlib import Path

from msgspec import structs

from paragone import data, engines
from paragone.base.errors import (
    Unavailable,
    UserError,
    as_user_error,
    entry_point,
    first_line,
    keep_traceback,
)
from paragone.base.plugins import LIBRARY
from paragone.base.processes import end_process, tuning_variables
from paragone.base.ranks import World
from paragone.config.code_files import digest_of, loaded_modules
from paragone.config.own_files import model_file
from paragone.config.run_spec import Spec
from paragone.engines import has
from paragone.machine import limits, process_entry
from paragone.machine.activity import HostWatch
from paragone.models.weights import Pretrained, read
from paragone.records.run_record import Process, RunRecord
from paragone.training import results
from paragone.training.checkpoints import Checkpoints
from paragone.training.clocks import Ledger
from paragone.training.loop import Result, Run, train
from paragone.training.speed_window import SpeedWindow
from paragone.workers.rendezvous import Rendezvous
from paragone.workers.run_options import run_parser


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = run_parser(__doc__)
    parser.add_argument("--rendezvous", type=Path, help="folder where the run's workers meet")
    return parser.parse_args(arguments)


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    ledger = Ledger()
    options = parse(arguments)
    spec = Spec.from_json(options.spec)
    meeting = Rendezvous(options.rendezvous, spec.workers, options.join_timeout)
    with meeting.reporting():
        work(options, spec, meeting, ledger)


def work(options: argparse.Namespace, spec: Spec, meeting: Rendezvous, ledger: Ledger) -> None:
    """The work of one worker. Only rank 0 writes, and only after every rank has trained to the end."""
    limits.claim_cores(options.threads)
    start = process_entry.at_start()
    world = meeting.join()
    host = HostWatch(world.host_pids)
    threads = limits.claim_cores(options.threads, world.core_rank, world.core_workers)
    prepare(spec, world)
    ledger.switch("data")  # before the framework: missing data is found in a second
    dataset = data.load(options.manifest, options.data_folder)
    process = Process(
        **structs.asdict(structs.replace(start, threads=threads)),
        rank=world.rank,
        variables=tuning_variables(),
        config_sha256=spec.sha256,
        manifest_sha256=dataset.manifest_sha256,
    )
    pretrained = read(options.weights, options.data_folder)
    checkpoints = Checkpoints(options.checkpoints, context(spec, dataset, pretrained), meeting)
    ledger.switch("imports")
    engine = engines.create(spec)
    ledger.switch("data")
    processes = meeting.meet("devices", process)
    window = None
    if options.window_seconds:
        limit = options.window_limit or math.inf
        window = SpeedWindow(options.window_seconds, limit, meeting)
    run = Run(
        engine=engine,
        spec=spec,
        dataset=dataset,
        threads=threads,
        ledger=ledger,
        checkpoints=checkpoints,
        processes=processes,
        host=host,
        world=world,
        pretrained=pretrained,
        speed_window=window,
        expected_steps=options.first_steps,
    )
    result = trained(run)
    record = result.record
    if record.status != "completed" and world.rank == 0:
        print(f"[{spec.name}] {record.status}: {record.reason}", flush=True)
    process = used(run, result)
    if world.workers > 1 and record.status in ("unavailable", "unsupported", "out_of_memory"):
        # The others may wait without knowing: launch.py ends them and writes the record.
        meeting.report(record.status, record.reason)
        sys.exit(1)
    # Each worker knows its use of the machine only at its end.
    record.processes[-world.workers :] = meeting.meet("end-of-training", process)
    if world.rank == 0:
        results.write_predictions(options.predictions, dataset, result.probabilities)
        ledger.switch("other")
        first = -world.workers
        record.processes[first] = process_entry.ending(record.processes[first], ledger.mark)
        results.write_record(options, dataset, record, ledger.seconds)
        checkpoints.remove()
    # A worker that left earlier would look like a dead one to its framework.
    meeting.meet("end", {})


def prepare(spec: Spec, world: World) -> None:
    """Limit the memory of a run on CPUs, and warn of workers that others can reach."""
    if spec.backend.device == "cpu":
        limits.limit_memory(len(world.host_pids))
    if world.rank == 0 and not world.on_one_host:
        print(
            f"warning: workers listen on {', '.join(world.addresses)} without authentication; use a "
            "private network or a firewall",
            flush=True,
        )


def trained(run: Run) -> Result:
    """The result of training, also where the devices are not there."""
    try:
        return train(run)
    except Unavailable as error:
        record = RunRecord(
            run=run.spec.name,
            status="unavailable",
            reason=str(error),
            spec=run.spec,
            processes=run.processes,
        )
        return Result(record)
    except Exception as error:
        if blamed := of_own_model(error, run.spec):
            raise blamed from error
        raise


def used(run: Run, result: Result) -> Process:
    """This process with what it has used. Call it right after the last timed work."""
    process = result.record.processes[run.world.rank - run.world.workers]
    opened = has(run.engine, "devices")  # not where the run was unavailable
    return process_entry.ending(
        structs.replace(
            process,
            devices=run.engine.device_names if has(run.engine, "device_names") else [],
            load=process_entry.load_at_end(process.load, run.host.life()),
            system_threads=process_entry.system_threads(),
            memory=process_entry.peak_memory(result.peak_device_bytes),
            programs=run.engine.programs() if opened else None,
        )
    )


def of_own_model(error: Exception, spec: Spec) -> UserError | None:
    """The error with the plugin's file whose model a framework fails to train; None for any other.

    Of several workers one may also fail because another has. The traceback is for who wrote the model.
    """
    if as_user_error(error) or spec.workers > 1 or not in_engine(error):
        return None
    if (file := model_file(spec)) is None:
        return None
    where = f"model {spec.workload.model_name!r} on backend {spec.backend.name}"
    return UserError(
        f"{file}: {where}: {type(error).__name__}: {first_line(error)}; the traceback is in "
        f"{keep_traceback(error)}"
    )


def in_engine(error: Exception) -> bool:
    """Whether an error comes from a method of an engine, and not from clocks, data or checkpoints."""
    files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    packages = [
        file.relative_to(LIBRARY).parts[0] for file in files if file.is_relative_to(LIBRARY)
    ]
    return "engines" in packages and packages[-1] in ("engines", "models")


def context(spec: Spec, dataset: data.Dataset, pretrained: Pretrained | None) -> str:
    """A hash of all that a checkpoint depends on: specification, data, initial weights, code."""
    start = pretrained.sha256 if pretrained else "random"
    code = digest_of("train.py", *loaded_modules(spec))
    text = f"{spec.to_json()} {dataset.manifest_sha256} {start} {code}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


if __name__ == "__main__":
    main()
    end_process()
