"""Train one run, as its only worker or as one of several, and write its record and predictions."""

import argparse
import hashlib
import math
import sys
import traceback
from pathlib import Path

from paragone import data, engines
from paragone.base.errors import Unavailable, UserError, as_user_error, entry_point, first_line
from paragone.base.plugins import LIBRARY
from paragone.base.processes import end_process
from paragone.config.code_files import digest_of, loaded_modules
from paragone.config.own_files import model_file
from paragone.config.run_spec import Spec
from paragone.machine import limits, process_entry
from paragone.machine.activity import HostWatch
from paragone.models.weights import Pretrained, read
from paragone.records.outcome import Outcome
from paragone.training import results
from paragone.training.checkpoints import Checkpoints
from paragone.training.clocks import Ledger
from paragone.training.loop import train
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
    process = process_entry.process_entry(limits.claim_cores(options.threads))
    world = meeting.join()
    host = HostWatch(world.host_pids)
    process["rank"] = world.rank
    threads = limits.claim_cores(options.threads, world.core_rank, world.core_workers)
    process["threads"] = threads
    if spec.backend["device"] == "cpu":
        limits.limit_memory(len(world.host_pids))
    if world.rank == 0 and not world.on_one_host:
        print(
            f"warning: workers listen on {', '.join(world.addresses)} without authentication; use a "
            "private network or a firewall",
            flush=True,
        )
    ledger.switch("data")  # before the framework: missing data is found in a second
    dataset = data.load(options.manifest, options.data_folder)
    process |= {
        "config_sha256": spec.sha256,
        "manifest_sha256": dataset.manifest_sha256,
        **process_entry.unknown_usage(),
    }
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
    try:
        outcome = train(
            engine,
            spec,
            dataset,
            threads,
            ledger,
            checkpoints,
            processes,
            host,
            world,
            pretrained,
            window,
            options.first_steps,
        )
        observed = getattr(engine, "devices", None)  # the memory may be full before they are known
        process["devices"] = getattr(engine, "device_names", [])
    except Unavailable as error:
        outcome = Outcome(processes, status="unavailable", reason=str(error))
        observed = None
    except Exception as error:
        if blamed := of_own_model(error, spec):
            raise blamed from error
        raise
    if outcome.status != "completed" and world.rank == 0:
        print(f"[{spec.name}] {outcome.status}: {outcome.reason}", flush=True)
    opened = hasattr(engine, "devices")  # not where the run was unavailable
    programs = engine.programs() if opened else None
    process_entry.add_usage(process, outcome.peak_device_bytes, programs)
    process["load"]["life"] = host.life()
    process_entry.mark_end(process)
    if world.workers > 1 and outcome.status in (
        "unavailable",
        "unsupported",
        "out_of_memory",
    ):
        # The others may wait without knowing: launch.py ends them and writes the record.
        meeting.report(outcome.status, outcome.reason)
        sys.exit(1)
    ends = meeting.meet("end-of-training", process)
    for one, end in zip(processes, ends, strict=True):
        one.update(end)  # what each worker knows only at its end
    if world.rank == 0:
        results.write_predictions(options.predictions, dataset, outcome.probabilities)
        ledger.switch("other")
        process_entry.mark_end(process, ledger.mark)
        results.write_record(options, spec, dataset, outcome, observed, ledger.seconds)
        checkpoints.remove()
    # A worker that left earlier would look like a dead one to its framework.
    meeting.meet("end", {})


def of_own_model(error: Exception, spec: Spec) -> UserError | None:
    """The error with the plugin's file whose model a framework fails to train; None for any other.

    Of several workers one may also fail because another has. The traceback is for who wrote the model.
    """
    if as_user_error(error) or spec.workers > 1 or not in_engine(error):
        return None
    if (file := model_file(spec)) is None:
        return None
    traceback.print_exc()
    where = f"model {spec.workload['model']['name']!r} on backend {spec.backend['name']}"
    return UserError(f"{file}: {where}: {type(error).__name__}: {first_line(error)}")


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
