"""Start the workers of one run, here or through srun, and see all of them end, well or not.

The environment may fix what workers on several hosts cannot know: PARAGONE_ADDRESS, the name or number
by which the others reach this host, and PARAGONE_PORT, from which on rank 0, 1, ... listen.
"""

import argparse
import os
import shutil
import signal
import sys
import uuid
from pathlib import Path

from paragone import launcher
from paragone.errors import UserError, entry_point
from paragone.failure import conclude
from paragone.run_options import run_arguments, run_parser
from paragone.spec import Spec

MEETING = "workers-"  # folders beside the checkpoints: Snakemake deletes only declared outputs


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = run_parser(__doc__)
    parser.add_argument("--nodes", type=int, default=1, help="hosts of the Slurm allocation to use")
    return parser.parse_args(arguments)


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    options = parse(arguments)
    spec = Spec.from_json(options.spec)
    check_nodes(options.nodes, spec.workers)
    folder = options.checkpoints.parent
    meeting = folder / f"{MEETING}{uuid.uuid4().hex[:8]}"
    meeting.mkdir(parents=True)
    program = Path(__file__).with_name("train.py")
    line = [sys.executable, str(program), *run_arguments(options), f"--rendezvous={meeting}"]
    children: list[launcher.Child] = []
    try:
        with launcher.interruptible():
            children += launcher.start(line, spec.workers, options.nodes, options.threads)
            failed = launcher.first_to_fail(children)
    except launcher.Interrupted as interruption:
        launcher.end(children)
        shutil.rmtree(meeting)
        signal.signal(interruption.number, signal.SIG_DFL)
        os.kill(os.getpid(), interruption.number)
    try:
        if failed:
            launcher.end(children)
            conclude(failed, options, spec, meeting)
        for child in children:
            child.settle()
    finally:
        shutil.rmtree(meeting)
    for left_by_a_killed_launcher in folder.glob(f"{MEETING}*"):
        shutil.rmtree(left_by_a_killed_launcher)


def check_nodes(nodes: int, workers: int) -> None:
    """Raise `UserError` if the workers cannot be spread over so many hosts."""
    if not 1 <= nodes <= workers:
        raise UserError(f"--nodes: {workers} worker(s) cannot be spread over {nodes} hosts")
    if nodes > 1 and "SLURM_JOB_ID" not in os.environ:
        raise UserError(
            f"--nodes: {nodes} hosts asked for, but this is no Slurm allocation; submit the workflow "
            "with --workflow-profile profiles/slurm, or use one host"
        )


if __name__ == "__main__":
    main()
