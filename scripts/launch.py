"""Run the workers of one run, on this host or through srun, and write the record if they fail.

The environment may set what workers on several hosts cannot know: PARAGONE_ADDRESS, the name or number
by which the others reach this host, and PARAGONE_PORT: rank k listens on this port plus k.
"""

import os
from pathlib import Path

from msgspec.structs import asdict, replace

from paragone.base.errors import Unavailable, UserError, entry_point
from paragone.base.interpreters import python_of
from paragone.base.typed_json import read_job, write_job
from paragone.machine.limits import free_cores
from paragone.parity.compare import refusal
from paragone.records.run_record import Process
from paragone.workers import RunJob
from paragone.workers.rendezvous import meeting_folder
from paragone.workers.worker_failure import processes, run_workers


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    job: RunJob = read_job(RunJob, arguments)
    workers = job.spec.workers
    if not 1 <= job.nodes <= workers:
        raise UserError(f"nodes: {workers} worker(s) cannot be spread over {job.nodes} hosts")
    if job.nodes > 1 and "SLURM_JOB_ID" not in os.environ:
        raise UserError(
            f"nodes: {job.nodes} hosts asked for, but this is no Slurm allocation; submit the workflow "
            "with --workflow-profile profiles/slurm, or use one host: add train:nodes=1 to a --set-resources "
            "of yours, which takes the place of the profile's"
        )
    program = Path(__file__).with_name("train.py")
    # Beside the checkpoints: Snakemake deletes only declared outputs.
    with meeting_folder(job.checkpoints.parent) as meeting, free_cores(job.threads) as cores:
        if reason := refusal(job.probes, job.spec.backend.name):
            conclude(job, [], "refused", reason)
            return
        try:
            python = python_of(job.pythons)
        except Unavailable as error:
            conclude(job, [], "unavailable", str(error))
            return
        path = write_job(replace(job, rendezvous=meeting), meeting)
        line = [python, str(program), str(path)]
        how = {"nodes": job.nodes, "cores": job.threads, "affinity": cores}
        if failure := run_workers(line, job.spec, meeting, **how):
            conclude(job, processes(meeting, workers), *failure)


def conclude(job: RunJob, workers: list[Process], status: str, reason: str | None) -> None:
    """Write the record without epochs and clocks that the workers could not; this process if none started."""
    # Imported here: a run that ends well needs none of it.
    from paragone import data
    from paragone.machine import process_entry
    from paragone.records.run_record import RunRecord
    from paragone.training import results

    spec = job.spec
    dataset = data.load(job.manifest, job.data_folder, spec.workload.dataset)
    if not workers:
        entry = asdict(process_entry.at_start())
        if job.pythons:  # the run's packages are not those of this process
            entry["software"] = {}
        workers = [Process(**entry, rank=0, variables={}, manifest_sha256=dataset.manifest_sha256)]
    record = RunRecord(
        run=spec.name,
        status=status,
        reason=reason,
        spec=spec,
        data=results.data_read(dataset, spec),
        processes=workers,
    )
    print(f"[{spec.name}] {status}: {reason}", flush=True)
    results.write_predictions(job.predictions, dataset, None)
    results.write_record(job, record, None)


if __name__ == "__main__":
    main()
