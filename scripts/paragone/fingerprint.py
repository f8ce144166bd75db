"""What a result depends on besides its specification: machine, software, and who else was busy."""

import os
import platform
import resource
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

PACKAGES = (
    "keras",
    "libtpu",
    "numpy",
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-tpu",
    "torch",
    "torch-xla",
    "torchvision",
)


def process_entry(rank: int, threads: int) -> dict[str, Any]:
    """The record's `processes` entry of this process, as far as it is known at its start."""
    started = datetime.fromtimestamp(psutil.Process().create_time(), UTC)
    return {
        "rank": rank,
        "started": started.isoformat(timespec="milliseconds"),
        "first_epoch": 1,
        "host": platform.node(),
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)),
            "memory_bytes": psutil.virtual_memory().total,
            "devices": [],
        },
        "threads": threads,
        "software": _software(),
        "load": {"before": os.getloadavg()[0], "other_cpu_share": None},
    }


def claim_cores(threads: int) -> int:
    """Keep this process on at most `threads` of its cores, whatever the framework; return how many.

    Affinity is the one limit that every framework obeys; PyTorch/XLA knows no other.
    """
    cores = sorted(os.sched_getaffinity(0))[:threads]
    os.sched_setaffinity(0, cores)
    return len(cores)


def limit_memory(share: float = 0.9) -> None:
    """Let this process allocate at most a share of the memory that is free now, or what it may already.

    An allocation beyond it fails, which the run can report; without a limit the kernel would end the
    process, and perhaps others, without a word.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    limit = min([int(share * psutil.virtual_memory().available), *limits])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


class NeighbourWatch:
    """Measures the CPU time that other processes used while this one ran."""

    def __init__(self) -> None:
        self._machine, self._own = _busy_seconds(), _own_seconds()
        self._idle = psutil.cpu_times().idle

    def other_cpu_share(self) -> float:
        """Share of the machine's CPU time since the start that others used, 0 to 1."""
        busy = _busy_seconds() - self._machine
        total = busy + psutil.cpu_times().idle - self._idle
        others = busy - (_own_seconds() - self._own)
        return max(0.0, others / total) if total > 0 else 0.0


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return times.user + times.system + times.nice


def _own_seconds() -> float:
    own = psutil.Process().cpu_times()
    return own.user + own.system + own.children_user + own.children_system


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _software() -> dict[str, str]:
    versions = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
