"""Observe what one backend computes for the parity gate, or what the first steps of runs should change.

What fails, or ends the process, stops no run: the output holds the reason.
"""

import tempfile
import time
import traceback
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from paragone import data
from paragone.base.errors import Unavailable, UserError, entry_point, reason_of
from paragone.base.interpreters import python_of
from paragone.base.processes import end_process
from paragone.base.typed_json import Job, read_job, write_job
from paragone.config.run_spec import Spec
from paragone.engines import keep_programs
from paragone.machine import limits
from paragone.models.weights import Weights, read
from paragone.parity import first_steps
from paragone.training.observe import observe, write
from paragone.training.worker import blaming_own_model
from paragone.workers import supervisor
from paragone.workers.worker_failure import ending


class Probing(Job, kw_only=True):
    """What to compute; `output` is a .npz file.

    `weights`: the file that scripts/fetch.py wrote of published weights, if there are any. With `first_steps`
    the specification is of `engines.first_steps`: what runs should change is computed, and its tolerances.
    `pythons`: see `interpreters.python_of`. `unsupervised`: in this process.
    """

    spec: Spec
    output: Path
    manifest: Path
    weights: tuple[Path, ...] = ()
    data_folder: Path
    pythons: tuple[Path, ...] = ()
    first_steps: bool = False
    unsupervised: bool = False


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program. Raises `UserError`, before any framework is imported, for data that are not there."""
    job: Probing = read_job(Probing, arguments)
    dataset = data.load(job.manifest, job.data_folder, job.spec.workload.dataset)
    pretrained = read(job.weights[0], job.data_folder) if job.weights else None
    if job.unsupervised:
        keep_programs()
        if job.first_steps:
            limits.limit_memory(1)  # a run must not suffer, and the error says more than a kill
        compute = first_steps.reference if job.first_steps else observe
        begin = time.monotonic()
        try:
            with blaming_own_model(job.spec):
                arrays = compute(job.spec, dataset, pretrained)
        except Exception as error:
            if not isinstance(error, UserError):
                traceback.print_exc()
            store_failure(job, reason_of(error))
            return
        reason = arrays.get("unavailable", arrays.get("failed"))
        done = "computed" if reason is None else f"without result: {reason}"
        store(job, arrays, f"{done}, {time.monotonic() - begin:.1f} s")
    else:
        try:
            python = python_of(job.pythons)
        except Unavailable as error:
            store(job, {"unavailable": np.array(str(error))}, f"without result: {error}")
            return
        with tempfile.TemporaryDirectory() as folder:
            path = write_job(replace(job, unsupervised=True), Path(folder))
            supervise([python, __file__, str(path)], job)


def supervise(line: list[str], job: Probing) -> None:
    """Run the command; a process that ends without an output has failed."""
    job.output.unlink(missing_ok=True)
    child = supervisor.run(line, 1)
    if not job.output.exists():
        status = child.status if child else 0
        how = f"was ended by {ending(status)}" if status < 0 else f"ended with status {status}"
        store_failure(job, f"the process {how}")


def store_failure(job: Probing, reason: str) -> None:
    """Write the reason in place of the arrays, and print it."""
    text = f"failed: {reason}; to probe again, delete {job.output}"
    store(job, {"failed": np.array(reason)}, text)


def store(job: Probing, arrays: Weights, text: str) -> None:
    """Write the output, and print a line on it."""
    write(arrays, job.output)
    print(f"[{job.spec.workload.name} {job.spec.backend.name}] {text}", flush=True)


if __name__ == "__main__":
    main()
    end_process()
