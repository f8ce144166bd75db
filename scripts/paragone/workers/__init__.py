"""Processes that work together: supervisor, rendezvous, and what a failed one means."""

from pathlib import Path

from paragone.base.engine_reports import JOIN_TIMEOUT
from paragone.base.typed_json import Job
from paragone.config.run_spec import Spec


class WorkerJob(Job, kw_only=True):
    """What every worker of a run or of a contest reads, and with how many cores.

    `manifest`: of the data set. `data_folder`: `data.folder` of the config. `weights`: the file that
    scripts/fetch.py wrote of published weights, if the run starts from some. `first_steps`: what probe.py
    expects of the first steps, if anything. `threads`: CPU cores to use at most, per host. `rendezvous`: the
    folder where the workers meet, for `join_timeout` seconds at most: before, in and after training.
    """

    spec: Spec
    manifest: Path
    data_folder: Path
    weights: tuple[Path, ...] = ()
    first_steps: tuple[Path, ...] = ()
    threads: int
    rendezvous: Path | None = None
    join_timeout: float = JOIN_TIMEOUT


class RunJob(WorkerJob, kw_only=True):
    """A run to its end.

    `checkpoints`: the folder to resume from. `nodes`: hosts of the Slurm allocation to use. `probes`: what
    the parity gate compares; nothing is started if the backend has failed it. `pythons`: see
    `interpreters.python_of`.
    """

    checkpoints: Path
    nodes: int = 1
    probes: tuple[Path, ...] = ()
    pythons: tuple[Path, ...] = ()
    record: Path
    predictions: Path
