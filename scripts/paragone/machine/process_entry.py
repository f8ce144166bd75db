"""What a result depends on besides its specification: machine, software, code."""

import platform
import sys
from datetime import UTC, datetime, timedelta
from importlib import metadata
from typing import Any

from paragone.machine import hardware, load
from paragone.machine.git_state import git_state
from paragone.machine.process_age import age

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
        "machine": hardware.describe(),
        "threads": threads,
        "software": _software(),
        "git": git_state(),
        "load": load.unknown(),
    }


def _software() -> dict[str, str]:
    versions = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
