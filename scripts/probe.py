"""Observe what one backend computes for the parity gate, or what the first steps of runs should change.

All specifications are computed in one process. What fails, or ends the process, costs the others nothing and
stops no run: its output holds the reason.
"""

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paragone import data
from paragone.base.errors import UserError, entry_point, reason_of
from paragone.base.processes import IN_FILE, end_process, in_file
from paragone.config.run_spec import Spec
from paragone.engines import keep_programs
from paragone.machine import limits
from paragone.models.weights import Pretrained, Weights, read
from paragone.parity import first_steps
from paragone.training.observe import failed, observe, write
from paragone.workers import supervisor
from paragone.workers.worker_failure import ending


@entry_point
def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars=IN_FILE)
    several: dict[str, Any] = {"nargs": "+", "action": "extend", "required": True}
    parser.add_argument("--specs", **several, help="specifications, JSON")
    parser.add_argument("--outputs", **several, type=Path, help=".npz to write, one per spec")
    parser.add_argument("--manifests", **several, type=Path, help="of the data sets, each once")
    parser.add_argument(
        "--weights",
        **several | {"nargs": "*", "required": False, "default": []},
        type=Path,
        help="files that scripts/fetch.py --model wrote",
    )
    parser.add_argument(
        "--data-folder", required=True, type=Path, help="`data.folder` of the config"
    )
    parser.add_argument(
        "--first-steps",
        action="store_true",
        help="the specs are of `expand.first_steps`: compute what the runs should change, and its tolerances",
    )
    parser.add_argument(
        "--unsupervised",
        action="store_true",
        help="probe in this process; the first failure ends it",
    )
    options = parser.parse_args()
    inputs = Inputs(options)
    compute = first_steps.reference if options.first_steps else observe
    if options.unsupervised:
        keep_programs()
        if options.first_steps:
            limits.limit_memory(1)  # a run must not suffer, and the error says more than a kill
        for index, (spec, output) in enumerate(missing(inputs.specs, options.outputs)):
            probe(compute, spec, inputs, output, alone=index == 0)
    else:
        with tempfile.TemporaryDirectory() as folder:
            arguments = in_file(again(options), Path(folder))
            line = [sys.executable, __file__, arguments, "--unsupervised"]
            supervise(line, inputs.specs, options.outputs)


def again(options: argparse.Namespace) -> list[object]:
    """The arguments that give another process the same options."""
    return [
        *("--specs", *options.specs, "--outputs", *options.outputs),
        *("--manifests", *options.manifests, "--data-folder", options.data_folder),
        *("--weights", *options.weights),
        *(["--first-steps"] if options.first_steps else []),
    ]


class Inputs:
    """Specifications, and what they read. Raises `UserError`, before any framework is imported."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.specs = [Spec.from_json(text) for text in options.specs]
        if len(options.outputs) != len(self.specs):
            raise UserError(f"--outputs: {len(options.outputs)} for {len(self.specs)} --specs")
        # Frameworks fix their devices at first use.
        if len({(spec.backend.name, spec.replicas) for spec in self.specs}) > 1:
            raise UserError("--specs: of more than one backend or number of replicas")
        found = [data.load(path, options.data_folder) for path in options.manifests]
        self._datasets = {dataset.name: dataset for dataset in found}
        self._weights = {}
        for path in options.weights:
            pretrained = read(path, options.data_folder)
            self._weights[json.loads(path.read_bytes())["model"]] = pretrained
        for spec in self.specs:
            if spec.workload.dataset not in self._datasets:
                raise UserError(f"--manifests: none of data set {spec.workload.dataset!r}")

    def of(self, spec: Spec) -> tuple[data.Dataset, Pretrained | None]:
        """The data set of a specification, and its pretrained weights if there are any."""
        dataset = self._datasets[spec.workload.dataset]
        return dataset, self._weights.get(spec.workload.model_name)


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
        arrays = compute(spec, *inputs.of(spec))
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
    write(failed(reason), output)
    print(f"{label(spec)} failed: {reason}; to probe again, delete {output}", flush=True)


def label(spec: Spec) -> str:
    """Workload and backend, for the log."""
    return f"[{spec.workload.name} {spec.backend.name}]"


if __name__ == "__main__":
    main()
    end_process()
