"""One process in a result: machine, software and code at its start, what it used at its end."""

import os
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from paragone.machine import hardware, load
from paragone.machine.energy import EnergyMeter

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
_CODE = Path(__file__).parents[2]


def process_entry(workers: int, threads: int) -> dict[str, Any]:
    """The record's `processes` entry of this process, as far as it is known at its start."""
    started = datetime.now(UTC) - timedelta(seconds=age())  # the ledger's zero
    return {
        "rank": 0,
        "workers": workers,
        "started": started.isoformat(timespec="milliseconds"),
        "first_epoch": 1,
        "machine": hardware.describe(),
        "cores": len(os.sched_getaffinity(0)),
        "devices": [],
        "threads": threads,
        "software": _software(),
        "git": git_state(),
        "load": load.unknown(),
    }


def unknown_usage() -> dict[str, Any]:
    """What `Usage.stop` fills in; it stays None if the process is killed."""
    return {
        "system_threads": None,
        "memory": {"peak_host_bytes": None, "peak_device_bytes": None},
        "energy": {"cpu_joules": None, "accelerator_joules": None},
    }


class Usage:
    """Measures this process, its machine and other processes from its creation."""

    def __init__(self) -> None:
        self._load, self._energy = load.LoadWatch(), EnergyMeter()

    def cpu_seconds(self) -> dict[str, float]:
        """See `LoadWatch.cpu_seconds`."""
        return self._load.cpu_seconds()

    def stop(self, process: dict[str, Any], peak_device_bytes: int | None) -> None:
        """Fill in this process's entry. Call it right after the last timed work."""
        process["load"] |= self._load.stop()
        process["energy"] = self._energy.stop()
        process["system_threads"] = psutil.Process().num_threads()
        process["memory"] = {
            # Linux reports KiB.
            "peak_host_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "peak_device_bytes": peak_device_bytes,
        }


def age() -> float:
    """Seconds since this process started.

    From the kernel's clock since boot: psutil is wrong by up to a second, because it adds the
    time of the boot in whole seconds.
    """
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")  # field 22 of all, after name and state
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def git_state(folder: Path = _CODE) -> dict[str, Any] | None:
    """The commit that `folder` is checked out at, and whether tracked files differ from it (`dirty`).

    None outside a repository, before its first commit, or without git.
    """
    line = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return None
    lines = done.stdout.splitlines()
    commit = next((text.split()[-1] for text in lines if text.startswith("# branch.oid")), None)
    if done.returncode or commit in (None, "(initial)"):
        return None
    return {"commit": commit, "dirty": any(not text.startswith("#") for text in lines)}


def _software() -> dict[str, str]:
    versions = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
