"""Observe what one backend computes for the parity gate, or what the first steps of runs should change.

All specifications are computed in one process. What fails, or ends the process, costs the others nothing and
stops no run: its output holds the reason.
"""

import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from paragone import data
from paragone.base.errors import UserError, entry_point, reason_of
from paragone.base.processes import end_process
from paragone.base.typed_json import Job, read_job, write_job
from paragone.config.run_spec import Spec
from paragone.engines import keep_programs
from paragone.machine import limits
from paragone.models.weights import Pretrained, Weights, read
from paragone.parity import first_steps
from paragone.training.observe import observe, write
from paragone.training.worker import blaming_own_model
from paragone.workers import supervisor
from paragone.workers.worker_failure import ending

# The data set of a workload, and its published weights if there are any.
Inputs = tuple[data.Dataset, Pretrained | None]


class Probes(Job, kw_only=True):
    """Specifications of one backend to compute in one process: `outputs` has a .npz file for each.

    `manifests`: of the data sets, each once. `weights`: files that scripts/fetch.py wrote of published
    weights. With `first_steps` the specifications are of `expand.first_steps`: what runs should change is
    computed, and its tolerances. `unsupervised`: in this process, which the first failure ends.
    """

    specs: list[Spec]
    outputs: list[Path]
    manifests: list[Path]
    weights: tuple[Path, ...] = ()
    data_folder: Path
    first_steps: bool = False
    unsupervised: bool = False


@entry_point
def main() -> None:
    """Run the program."""
    job: Probes = read_job(Probes)
    inputs = read_inputs(job)
    compute = first_steps.reference if job.first_steps else observe
    if job.unsupervised:
        keep_programs()
        if job.first_steps:
            limits.limit_memory(1)  # a run must not suffer, and the error says more than a kill
        for index, (spec, output) in enumerate(missing(job.specs, job.outputs)):
            probe(compute, spec, inputs[spec.workload.name], output, alone=index == 0)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = write_job(replace(job, unsupervised=True), Path(folder))
            supervise([sys.executable, __file__, str(path)], job.specs, job.outputs)


def read_inputs(job: Probes) -> dict[str, Inputs]:
    """Return the inputs of each workload. Raises `UserError`, before any framework is imported."""
    datasets = {
        dataset.name: dataset
        for dataset in (data.load(path, job.data_folder) for path in job.manifests)
    }
    weights = {
        json.loads(path.read_bytes())["model"]: read(path, job.data_folder) for path in job.weights
    }
    return {
        spec.workload.name: (
            datasets[spec.workload.dataset],
            weights.get(spec.workload.model_name),
        )
        for spec in job.specs
    }


def missing(specs: list[Spec], outputs: list[Path]) -> list[tuple[Spec, Path]]:
    """The specifications whose outputs do not exist, with them."""
    return [pair for pair in zip(specs, outputs, strict=True) if not pair[1].exists()]


def probe(
    compute: Callable[..., Weights], spec: Spec, inputs: Inputs, output: Path, *, alone: bool
) -> None:
    """Compute the arrays of one specification; the process ends if that fails.

    The reason is stored if this is the first probe of the process. Otherwise an earlier one may have
    caused it (by the memory that it took): the supervisor starts this probe again in a new process.
    """
    begin = time.monotonic()
    try:
        with blaming_own_model(spec):
            arrays = compute(spec, *inputs)
    except Exception as error:
        if not isinstance(error, UserError):
            traceback.print_exc()
        if alone:
            store_failure(spec, output, reason_of(error))
        sys.exit(1)
    write(arrays, output)
    reason = arrays.get("unavailable", arrays.get("failed"))
    done = "computed" if reason is None else f"without result: {reason}"
    print(f"{label(spec)} {done}, {time.monotonic() - begin:.1f} s", flush=True)


def supervise(line: list[str], specs: list[Spec], outputs: list[Path]) -> None:
    """Run the command again until every output exists; a probe that ends its process alone has failed."""
    for output in outputs:
        output.unlink(missing_ok=True)
    while waiting := missing(specs, outputs):
        child = supervisor.run(line, 1)
        if missing(specs, outputs) == waiting:
            status = child.status if child else 0
            how = f"was ended by {ending(status)}" if status < 0 else f"ended with status {status}"
            store_failure(*waiting[0], f"the process {how}")


def store_failure(spec: Spec, output: Path, reason: str) -> None:
    """Write the reason in place of the arrays, and print it."""
    write({"failed": np.array(reason)}, output)
    print(f"{label(spec)} failed: {reason}; to probe again, delete {output}", flush=True)


def label(spec: Spec) -> str:
    """Workload and backend, for the log."""
    return f"[{spec.workload.name} {spec.backend.name}]"


if __name__ == "__main__":
    main()
    end_process()
