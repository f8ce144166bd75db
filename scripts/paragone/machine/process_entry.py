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

from paragone.base import processes
from paragone.base.engine_reports import Programs
from paragone.machine import hardware, load

PACKAGES = (
    "flax",
    "jax",
    "jax-cuda12-plugin",
    "jaxlib",
    "keras",
    "libtpu",
    "numpy",
    "optax",
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-tpu",
    "torch",
    "torch-xla",
    "torchvision",
)
_CODE = Path(__file__).parents[2]


def process_entry(threads: int) -> dict[str, Any]:
    """The record's `processes` entry of this process, as far as it is known at its start."""
    started = datetime.now(UTC) - timedelta(seconds=age())  # the ledger's zero
    return {
        "rank": 0,
        "started": started.isoformat(timespec="milliseconds"),
        "ended": None,
        "age": None,
        "first_epoch": 1,
        "machine": hardware.describe(),
        "cores": len(os.sched_getaffinity(0)),
        "devices": [],
        "threads": threads,
        "variables": processes.tuning_variables(),
        "software": software(),
        "git": git_state(),
        "load": load.at_start(),
    }


def unknown_usage() -> dict[str, Any]:
    """What the loop, `add_usage` and the host's watch fill in; it stays so if the process is killed."""
    return {
        "system_threads": None,
        "memory": {"peak_host_bytes": None, "peak_device_bytes": None},
        "modes": None,
        "programs": None,
        "epochs": [],
        "window": [],
    }


def add_usage(
    process: dict[str, Any], peak_device_bytes: int | None, programs: Programs | None
) -> None:
    """Fill in what this process has used. Call it right after the last timed work."""
    process["load"] |= load.at_end()
    process["system_threads"] = psutil.Process().num_threads()
    process["memory"] = {
        # Linux reports KiB.
        "peak_host_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "peak_device_bytes": peak_device_bytes,
    }
    process["programs"] = vars(programs) if programs else None


def mark_end(process: dict[str, Any], moment: float | None = None) -> None:
    """Fill in `ended` and `age`: what the entry and its clocks say is of this moment, see `age`."""
    process["age"] = age(moment)
    process["ended"] = datetime.now(UTC).isoformat(timespec="milliseconds")


def age(moment: float | None = None) -> float:
    """Seconds since this process started, until a moment of `time.perf_counter`, or until now.

    From the kernel's clock since boot: psutil is wrong by up to a second, because it adds the
    time of the boot in whole seconds.
    """
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")  # field 22 of all, after name and state
    # Both clocks at once: where others take the cores, two lines may be a tenth of a second apart.
    _, counter, boot = min(_clocks() for _ in range(5))
    return boot - started - (0 if moment is None else counter - moment)


def _clocks() -> tuple[float, float, float]:
    """How far apart the looks at the clocks were; the counter, and the time since boot, between them."""
    before = time.perf_counter()
    boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    after = time.perf_counter()
    return after - before, (before + after) / 2, boot


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


def software() -> dict[str, str]:
    """The version of Python, and of each of `PACKAGES` that is installed."""
    versions = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
