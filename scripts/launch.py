"""Run the workers of one run, on this host or through srun, and write the record if they fail.

The environment may set what workers on several hosts cannot know: PARAGONE_ADDRESS, the name or number
by which the others reach this host, and PARAGONE_PORT: rank k listens on this port plus k.
"""

import argparse
import os
import sys
from pathlib import Path

from paragone.base.errors import UserError, entry_point
from paragone.base.processes import in_file
from paragone.config.run_spec import Spec
from paragone.machine.limits import free_cores
from paragone.workers.rendezvous import meeting_folder
from paragone.workers.run_options import run_arguments, run_parser
from paragone.workers.worker_failure import processes, run_workers


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = run_parser(__doc__)
    parser.add_argument("--nodes", type=int, default=1, help="hosts of the Slurm allocation to use")
    options = parser.parse_args(arguments)
    spec = Spec.from_json(options.spec)
    check_nodes(options.nodes, spec.workers)
    program = Path(__file__).with_name("train.py")
    # Beside the checkpoints: Snakemake deletes only declared outputs.
    with (
        meeting_folder(options.checkpoints.parent) as meeting,
        free_cores(options.threads) as cores,
    ):
        again = in_file(run_arguments(options), meeting)
        line = [sys.executable, str(program), again]
        how = {"nodes": options.nodes, "cores": options.threads, "affinity": cores}
        if failure := run_workers(line, spec, meeting, **how):
            conclude(options, spec, meeting, *failure)


def check_nodes(nodes: int, workers: int) -> None:
    """Raise `UserError` if the workers cannot be spread over so many hosts."""
    if not 1 <= nodes <= workers:
        raise UserError(f"--nodes: {workers} worker(s) cannot be spread over {nodes} hosts")
    if nodes > 1 and "SLURM_JOB_ID" not in os.environ:
        raise UserError(
            f"--nodes: {nodes} hosts asked for, but this is no Slurm allocation; submit the workflow "
            "with --workflow-profile profiles/slurm, or use one host: add train:nodes=1 to a --set-resources "
            "of yours, which takes the place of the profile's"
        )


def conclude(
    options: argparse.Namespace, spec: Spec, meeting: Path, status: str, reason: str | None
) -> None:
    """Write the record without epochs and clocks that the workers could not."""
    # Imported here: a run that ends well needs none of it.
    from paragone import data
    from paragone.records.run_record import RunRecord
    from paragone.training import results

    dataset = data.load(options.manifest, options.data_folder, spec.workload.dataset)
    record = RunRecord(
        run=spec.name,
        status=status,
        reason=reason,
        spec=spec,
        processes=processes(meeting, spec.workers),
    )
    print(f"[{spec.name}] {status}: {reason}", flush=True)
    results.write_predictions(options.predictions, dataset, None)
    results.write_record(options, dataset, record, None)


if __name__ == "__main__":
    main()
