"""What a worker does before and after its work: it joins the others, and reports what it has used."""

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from paragone import data, engines
from paragone.base.errors import UserError, as_user_error, first_line, keep_traceback
from paragone.base.plugins import LIBRARY, origin
from paragone.base.processes import tuning_variables
from paragone.config.run_spec import Spec
from paragone.machine import limits, process_entry
from paragone.machine.activity import HostWatch
from paragone.models.weights import read
from paragone.records.run_record import Process
from paragone.training.loop import Ledger, Worker
from paragone.workers import WorkerJob
from paragone.workers.rendezvous import Rendezvous


def join(job: WorkerJob, meeting: Rendezvous, ledger: Ledger) -> Worker:
    """Meet the other workers; return this one with its cores, its data, and its engine, which is not built.

    Raises `UserError`.
    """
    spec = job.spec
    limits.claim_cores(job.threads)
    start = process_entry.at_start(spec.backend.versions or ())
    world = meeting.join()
    host = HostWatch(world.host_pids)
    threads = limits.claim_cores(job.threads, world.core_rank, world.core_workers)
    if spec.backend.device == "cpu":
        limits.limit_memory(len(world.host_pids))
    if world.rank == 0 and not world.on_one_host:
        print(
            f"warning: workers listen on {', '.join(world.addresses)} without authentication; use a "
            "private network or a firewall",
            flush=True,
        )
    ledger.switch("data")  # before the framework: missing data is found in a second
    dataset = data.load(job.manifest, job.data_folder, spec.workload.dataset)
    process = Process(
        **structs.asdict(structs.replace(start, threads=threads)),
        rank=world.rank,
        variables=tuning_variables(),
        manifest_sha256=dataset.manifest_sha256,
    )
    pretrained = read(job.weights[0], job.data_folder) if job.weights else None
    ledger.switch("imports")
    engine = engines.create(spec)
    ledger.switch("data")
    return Worker(
        engine=engine,
        spec=spec,
        dataset=dataset,
        threads=threads,
        ledger=ledger,
        processes=meeting.meet("devices", process),
        host=host,
        world=world,
        pretrained=pretrained,
        expected_steps=job.first_steps[0] if job.first_steps else None,
    )


def used(worker: Worker, process: Process, peak_device_bytes: int | None) -> Process:
    """Return this process with what it has used. Call it right after the last timed work."""
    opened = hasattr(worker.engine, "devices")  # not where the devices were unavailable
    return process_entry.ending(
        structs.replace(
            process,
            devices=worker.engine.device_names if hasattr(worker.engine, "device_names") else [],
            life=worker.host.life(),
            peak_host_bytes=process_entry.peak_host_bytes(),
            peak_device_bytes=peak_device_bytes,
            programs=worker.engine.programs() if opened else None,
        )
    )


@contextmanager
def blaming_own_model(spec: Spec) -> Iterator[None]:
    """Name the plugin's file whose model a framework fails to train, if that is why the block fails.

    Nothing is named where the connection to another worker is lost. The author of the model finds the
    traceback in a file.
    """
    try:
        yield
    except Exception as error:
        file = origin(spec.workload.model_name)
        is_lost = spec.workers > 1 and re.search("onnect|peer|socket|timed out", str(error))
        files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
        rooms = [at.relative_to(LIBRARY).parts[0] for at in files if at.is_relative_to(LIBRARY)]
        # Else it comes from clocks, data or checkpoints.
        in_engine = "engines" in rooms and rooms[-1] in ("engines", "models", "tasks")
        if as_user_error(error) or is_lost or not in_engine or file is None:
            raise
        where = f"model {spec.workload.model_name!r} on backend {spec.backend.name}"
        raise UserError(
            f"{file}: {where}: {type(error).__name__}: {first_line(error)}; the traceback is in "
            f"{keep_traceback(error)}"
        ) from error
