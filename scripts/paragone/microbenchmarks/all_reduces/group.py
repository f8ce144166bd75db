"""The processes of one group of replicas: started together, ended together, one result."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paragone.base.atomic_files import write_json
from paragone.base.errors import UserError
from paragone.base.ranks import World
from paragone.workers import supervisor
from paragone.workers.meeting_folder import meeting_folder
from paragone.workers.rendezvous import Rendezvous
from paragone.workers.worker_failure import explain

_RESULT = "result.json"


def run(line: list[str], workers: int, seconds: float, beside: Path) -> dict[str, Any]:
    """The result of as many processes of this command line; each calls `take_part`.

    Each is a new interpreter: virtual devices can be created once per process. They meet in a folder of their
    own in `beside`. Raises `UserError` when one fails or all take longer than `seconds`. No process outlives
    this call, nor this process.
    """
    with meeting_folder(beside) as folder:
        try:
            failed = supervisor.run([*line, f"--rendezvous={folder}"], workers, seconds=seconds)
        except TimeoutError:
            raise UserError(
                f"all-reduce: no result of {workers} process(es) after {seconds:g} s; they were ended"
            ) from None
        if failed:
            explain(failed, workers, folder)
        found: dict[str, Any] = json.loads((folder / _RESULT).read_text(encoding="utf-8"))
        return found


def take_part(
    folder: Path, workers: int, seconds: float, work: Callable[[World], dict[str, Any]]
) -> None:
    """Join the other processes and do the work; the result of rank 0 is that of the group.

    `seconds`: how long to wait for the others. Raises `UserError` if they do not come.
    """
    meeting = Rendezvous(folder, workers, seconds)
    with meeting.reporting():
        result = work(meeting.join())
        if meeting.rank == 0:
            write_json(result, folder / _RESULT)
        meeting.meet("end", {})  # a framework takes a process that leaves earlier for a failed one
