"""The result of processes that did not all end well: a status for the record, or one message."""

import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from paragone.base.errors import UserError
from paragone.config.run_spec import Spec
from paragone.machine import limits
from paragone.records.run_record import Process
from paragone.workers import supervisor
from paragone.workers.rendezvous import Report, place
from paragone.workers.supervisor import Child

# Signals that a program causes itself. All others come from outside: the run can be resumed.
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
_TASK = re.compile(r"srun: error: \S+: tasks? (\d+)[^:]*: (.*)")


def run_workers(
    line: list[str], spec: Spec, meeting: Path, **options: Any
) -> tuple[str, str | None] | None:
    """Run the workers of a run to their end; what `judge` says if they fail, else None. Raises as it does.

    `line`: their command. `meeting`: the folder where they meet. `options`: of `supervisor.run`.
    """
    before = limits.memory_counts()
    failed = supervisor.run(line, spec.workers, tuned=spec.tuning.variables, **options)
    if failed is None:
        return None
    full = limits.memory_was_full(before)
    return judge(failed, spec.workers, meeting, memory_was_full=full)


def judge(
    failed: Child, workers: int, meeting: Path, *, memory_was_full: bool
) -> tuple[str, str | None]:
    """Return status and reason of a run that failed as a result; raises for what is no result.

    `UserError` that names rank and reason, or says that the run can be started again; `SystemExit` if the
    only worker has printed it. `failed`: the first to fail, after all have ended. `meeting`: the folder of
    their rendezvous. `memory_was_full`: whether the kernel has killed a process of this control group for its
    memory meanwhile.
    """
    reports = {
        rank: msgspec.json.decode(path.read_bytes(), type=Report)
        for rank in range(workers)
        if (path := place(meeting, "report", rank)).exists()
    }
    for report in sorted(reports.values(), key=lambda report: report.time):
        if report.status not in ("refused", "failed"):
            return report.status, report.reason
    met = all(place(meeting, "devices", rank).exists() for rank in range(workers))
    if failed.status == -signal.SIGKILL and memory_was_full and met:
        reason = "the kernel ended the worker: the memory of its control group is full"
        return "out_of_memory", reason
    if workers > 1:
        raise UserError(_message(failed, workers, reports, meeting))
    if failed.status > 0:
        sys.exit(failed.status)
    # Of several workers one may also be torn down by another's end: that is no result of their own.
    number = signal.Signals(-failed.status)
    if number in CRASHES and met:
        return "crashed", f"the worker was ended by {ending(failed.status)}"
    raise UserError(
        f"the worker was ended by {number.name}; it resumes from its last checkpoint when it is "
        "started again"
    )


def ending(status: int) -> str:
    """Return the signal of a negative exit status: its name and its description."""
    number = signal.Signals(-status)
    return f"{number.name} ({(signal.strsignal(number) or '').lower()})"


def processes(meeting: Path, workers: int) -> list[Process]:
    """Return the processes of the record that the workers stored at the point "devices"."""
    paths = [place(meeting, "devices", rank) for rank in range(workers)]
    return [msgspec.json.decode(path.read_bytes(), type=Process) for path in paths]


def _message(failed: Child, workers: int, reports: dict[int, Report], meeting: Path) -> str:
    rank, how = _cause(failed, reports)
    if rank is None:
        return f"the workers {how}; last lines:{_shown(failed.tails.get(None))}"
    entry = place(meeting, "devices", rank)
    where = f" on {json.loads(entry.read_bytes())['machine']['host']}" if entry.exists() else ""
    report = reports.get(rank)
    if report and report.status == "refused":  # a message for the user: complete
        return f"rank {rank} of {workers}{where}: {report.reason}"
    reason = f" ({report.reason})" if report else ""
    return f"rank {rank} of {workers}{where} {how}{reason}; its last lines:{_shown(failed.tails.get(rank))}"


def _cause(failed: Child, reports: dict[int, Report]) -> tuple[int | None, str]:
    if failed.stopped:
        said = (f"rank {rank}: {report.reason}" for rank, report in sorted(reports.items()))
        reasons = f" ({'; '.join(said)})" if reports else ""
        return failed.stopped[0], f"is stopped (SIGSTOP), and the others gave up{reasons}"
    if failed.rank is None:
        tasks = map(_TASK.match, failed.tails.get(None, ()))
        if first := next((task for task in tasks if task), None):
            return int(first[1]), f"ended: {first[2]}"
    elif failed.status < 0:
        return failed.rank, f"was ended by {signal.Signals(-failed.status).name}"
    if reports:
        # A rank that raises an error reports it at once, and may end later than those that miss it.
        return min(reports, key=lambda rank: reports[rank].time), "failed"
    return failed.rank, f"ended with status {failed.status}"


def _shown(lines: Any) -> str:
    return "".join(f"\n  {line}" for line in lines or ["(none)"])
