"""Train one run, as its only worker or as one of several, and write its record and predictions."""

import argparse
import hashlib
import sys
from pathlib import Path

from paragone import data
from paragone.base.errors import entry_point
from paragone.base.processes import end_process
from paragone.config.code_files import digest_of, loaded_modules
from paragone.config.run_spec import Spec
from paragone.machine import process_entry
from paragone.models.weights import Pretrained
from paragone.training import results
from paragone.training.checkpoints import Checkpoints
from paragone.training.clocks import Ledger
from paragone.training.loop import Run, train
from paragone.training.worker import blaming_own_model, join, used
from paragone.workers.rendezvous import Rendezvous
from paragone.workers.run_options import run_parser


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    ledger = Ledger()
    parser = run_parser(__doc__)
    parser.add_argument("--rendezvous", type=Path, help="folder where the run's workers meet")
    options = parser.parse_args(arguments)
    spec = Spec.from_json(options.spec)
    meeting = Rendezvous(options.rendezvous, spec.workers, options.join_timeout)
    with meeting.reporting():
        work(options, spec, meeting, ledger)


def work(options: argparse.Namespace, spec: Spec, meeting: Rendezvous, ledger: Ledger) -> None:
    """The work of one worker. Only rank 0 writes, and only after every rank has trained to the end."""
    worker = join(options, spec, meeting, ledger)
    kept = context(spec, worker.dataset, worker.pretrained)
    run = Run(**vars(worker), checkpoints=Checkpoints(options.checkpoints, kept, meeting))
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
    # Each worker knows its use of the machine only at its end.
    record.processes[-world.workers :] = meeting.meet("end-of-training", process)
    if world.rank == 0:
        results.write_predictions(options.predictions, run.dataset, result.probabilities)
        ledger.switch("other")
        first = -world.workers
        record.processes[first] = process_entry.ending(record.processes[first], ledger.mark)
        results.write_record(options, run.dataset, record, ledger.seconds)
        run.checkpoints.remove()
    # A worker that left earlier would look like a dead one to its framework.
    meeting.meet("end", {})


def context(spec: Spec, dataset: data.Dataset, pretrained: Pretrained | None) -> str:
    """A hash of all that a checkpoint depends on: specification, data, initial weights, code."""
    start = pretrained.sha256 if pretrained else "random"
    code = digest_of("train.py", *loaded_modules(spec))
    text = f"{spec.to_json()} {dataset.manifest_sha256} {start} {code}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


if __name__ == "__main__":
    main()
    end_process()
