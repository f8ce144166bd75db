"""What becomes of a run whose workers did not all end well: a record with a status, or one message."""

import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

from paragone.base.errors import UserError
from paragone.workers.launcher import Child
from paragone.workers.rendezvous import place

# Signals that a program brings upon itself. All others come from outside: the run can be resumed.
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
_TASK = re.compile(r"srun: error: \S+: tasks? (\d+)[^:]*: (.*)")


def judge(failed: Child, workers: int, meeting: Path) -> tuple[str, str]:
    """Status and reason of a run that failed as a result; raises for what is no result.

    `UserError` where the run can be started again, `SystemExit` where its only worker has said why it
    ended. `failed`: the first to end badly, now that all have ended. `meeting`: the folder where they met.
    """
    reports = _reports(meeting, workers)
    for report in sorted(reports.values(), key=lambda one: one["time"]):
        if report["status"] not in ("refused", "failed"):
            return report["status"], report["reason"]
    if workers > 1:
        raise UserError(_message(failed, workers, reports, meeting))
    if failed.status > 0:
        sys.exit(failed.status)  # the worker has said why
    number = signal.Signals(-failed.status)
    # Of several workers one may also be torn down by another's end: that is no result of their own.
    if number in CRASHES and place(meeting, "devices", 0).exists():
        words = (signal.strsignal(number) or "").lower()
        return "crashed", f"the worker was ended by {number.name} ({words})"
    raise UserError(
        f"the worker was ended by {number.name}; it goes on from its last checkpoint when it is "
        "started again"
    )


def processes(meeting: Path, workers: int) -> list[dict[str, Any]]:
    """The entries of the record's `processes` that the workers brought to their first meeting."""
    return [json.loads(place(meeting, "devices", rank).read_text()) for rank in range(workers)]


def _reports(meeting: Path, workers: int) -> dict[int, dict[str, Any]]:
    """What ranks have left word of, by rank."""
    paths = {rank: place(meeting, "report", rank) for rank in range(workers)}
    return {rank: json.loads(path.read_text()) for rank, path in paths.items() if path.exists()}


def _message(failed: Child, workers: int, reports: dict[int, dict[str, Any]], meeting: Path) -> str:
    rank, how = _cause(failed, reports)
    if rank is None:
        return f"the workers {how}; last lines:{_shown(failed.tails.get(None))}"
    entry = place(meeting, "devices", rank)
    where = f" on {json.loads(entry.read_text())['host']}" if entry.exists() else ""
    report = reports.get(rank, {"status": None})
    if report["status"] == "refused":  # written for people: no need of more
        return f"rank {rank} of {workers}{where}: {report['reason']}"
    reason = f" ({report['reason']})" if report["status"] else ""
    return f"rank {rank} of {workers}{where} {how}{reason}; its last lines:{_shown(failed.tails.get(rank))}"


def _cause(failed: Child, reports: dict[int, dict[str, Any]]) -> tuple[int | None, str]:
    """The rank that failed first, and how it ended."""
    if failed.rank is None:
        tasks = map(_TASK.match, failed.tails.get(None, ()))
        if first := next((task for task in tasks if task), None):
            return int(first[1]), f"ended: {first[2]}"
    elif failed.status < 0:
        return failed.rank, f"was ended by {signal.Signals(-failed.status).name}"
    if reports:
        # A rank that raises an error tells so at once, and ends later than those who miss it.
        return min(reports, key=lambda rank: reports[rank]["time"]), "failed"
    return failed.rank, f"ended with status {failed.status}"


def _shown(lines: Any) -> str:
    return "".join(f"\n  {line}" for line in lines or ["(none)"])
