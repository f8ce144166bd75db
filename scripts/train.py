"""Train one run, as its only worker or as one of several, and write its record and predictions."""

import hashlib
import sys

from msgspec.structs import replace

from paragone import data
from paragone.base.errors import entry_point
from paragone.base.processes import end_process
from paragone.base.typed_json import read_job
from paragone.config.run_spec import Spec
from paragone.machine import process_entry
from paragone.models.weights import Pretrained
from paragone.plan.code import digest_of, loaded_names
from paragone.training import counts, results
from paragone.training.checkpoints import Checkpoints
from paragone.training.loop import Ledger, TrainingRun, train
from paragone.training.worker import blaming_own_model, join, used
from paragone.workers import RunJob
from paragone.workers.rendezvous import Rendezvous


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    ledger = Ledger()
    job: RunJob = read_job(RunJob, arguments)
    meeting = Rendezvous(job.rendezvous, job.spec.workers, job.join_timeout)
    with meeting.reporting():
        work(job, meeting, ledger)


def work(job: RunJob, meeting: Rendezvous, ledger: Ledger) -> None:
    """Do the work of one worker. Only rank 0 writes, after every rank has trained to the end."""
    spec, worker = job.spec, join(job, meeting, ledger)
    depends_on = context(spec, worker.dataset, worker.pretrained)
    checkpoints = Checkpoints(job.checkpoints, depends_on, meeting)
    run = TrainingRun(**vars(worker), checkpoints=checkpoints)
    with blaming_own_model(spec):
        result = train(run)
    world, record = run.world, result.record
    if record.status != "completed" and world.rank == 0:
        print(f"[{spec.name}] {record.status}: {record.reason}", flush=True)
    process = used(run, record.processes[world.rank - world.workers], result.peak_device_bytes)
    if world.workers > 1 and record.status in ("unavailable", "unsupported", "out_of_memory"):
        # The others may wait without knowing: launch.py ends them and writes the record.
        meeting.report(record.status, record.reason)
        sys.exit(1)
    # Each worker knows its use of the machine only at its end, and what itself has drawn.
    ends = meeting.meet("end-of-training", replace(record, processes=[process]))
    record.processes[-world.workers :] = [end.processes[0] for end in ends]
    if world.workers > 1:
        of_workers = [end.epochs for end in ends]
        record.epochs = counts.combined(of_workers, process.first_epoch)
    if world.rank == 0:
        results.write_predictions(job.predictions, run.dataset, result.probabilities)
        ledger.switch("other")
        first = -world.workers
        record.processes[first] = process_entry.ending(record.processes[first], ledger.mark)
        results.write_record(job, record, ledger.seconds)
        run.checkpoints.remove()
    # A worker that left earlier would look like a dead one to its framework.
    meeting.meet("end", {})


def context(spec: Spec, dataset: data.Dataset, pretrained: Pretrained | None) -> str:
    """Return a hash of all that a checkpoint depends on: specification, data, initial weights, code."""
    start = pretrained.sha256 if pretrained else "random"
    code = digest_of("training", *loaded_names(spec))
    text = f"{spec.to_json()} {dataset.manifest_sha256} {start} {code}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


if __name__ == "__main__":
    main()
    end_process()
