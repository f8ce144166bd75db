"""What a result depends on besides its specification: machine, software, code at work."""

import os
import platform
import resource
import sys
from datetime import UTC, datetime, timedelta
from importlib import metadata
from typing import Any

import psutil

from paragone import isolation, machine
from paragone.clocks import age
from paragone.provenance import git_state

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


def process_entry(workers: int, threads: int) -> dict[str, Any]:
    """The record's `processes` entry of this process, as far as it is known at its start."""
    started = datetime.now(UTC) - timedelta(seconds=age())  # the ledger's zero
    return {
        "rank": 0,
        "workers": workers,
        "started": started.isoformat(timespec="milliseconds"),
        "first_epoch": 1,
        "host": platform.node(),
        "machine": machine.describe(),
        "threads": threads,
        "software": _software(),
        "git": git_state(),
        "load": isolation.unknown(),
    }


def claim_cores(threads: int, part: int = 0, parts: int = 1) -> int:
    """Keep this process on at most `threads` of its cores, whatever the framework; return how many.

    Of several workers on the same cores each takes its part of them; where there are fewer cores than
    workers, they share. Affinity is the one limit that every framework obeys; PyTorch/XLA knows no other.
    """
    cores = sorted(os.sched_getaffinity(0))[:threads]
    own = cores[part * len(cores) // parts : (part + 1) * len(cores) // parts]
    own = own or [cores[part % len(cores)]]
    os.sched_setaffinity(0, own)
    return len(own)


def limit_memory(workers: int = 1) -> None:
    """Let this process allocate at most nine tenths of the memory that is free now, or what it may already.

    `workers` on this host share that evenly.

    An allocation beyond it fails, which the run can report; without a limit the kernel would end the
    process, and perhaps others, without a word.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    limit = min([int(0.9 * psutil.virtual_memory().available / workers), *limits])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _software() -> dict[str, str]:
    versions = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
