"""What a record says of this process: machine, software and code at its start, its use of them at its end."""

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
from msgspec import UNSET
from msgspec.structs import replace

from paragone.base.atomic_files import sha256_of
from paragone.base.processes import removed_variables
from paragone.machine import accelerators, limits
from paragone.machine.activity import HostWatch
from paragone.records.run_record import GitState, Machine, MeasuringProcess, Process

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
# Flags of a processor -> its vector instructions in words, the widest first. Processors of one name may
# differ in them, since a virtual machine can hide some.
_INSTRUCTIONS = {
    "amx_bf16": "AMX",
    "avx512_bf16": "AVX-512 with bfloat16",
    "avx512f": "AVX-512",
    "avx2": "AVX2",
}


def at_start(packages: Iterable[str] = ()) -> MeasuringProcess:
    """Return this process as known at its start; `threads` is all of its cores until it is known.

    `packages`: whose versions it names beside those of `PACKAGES`.
    """
    started = datetime.now(UTC) - timedelta(seconds=age())  # the ledger's zero
    cores = len(os.sched_getaffinity(0))
    return MeasuringProcess(
        started=started.isoformat(timespec="milliseconds"),
        machine=describe_machine(),
        cores=cores,
        threads=cores,
        software=software(packages),
        removed_variables=removed_variables() or UNSET,
        git=git_state(),
        load_before=os.getloadavg()[0],
    )


def describe_machine() -> Machine:
    """Return what distinguishes this machine from others, and the hash of that.

    Memory is in GiB: the kernel's own share of it differs from boot to boot. What a single process may
    use of the machine is no part of it.
    """
    machine: dict[str, Any] = {
        "host": platform.node(),
        "system": platform.platform(),
        "processor": processor(Path("/proc/cpuinfo").read_text(encoding="utf-8")),
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "accelerators": accelerators.names(),
        "driver": accelerators.driver(),
    }
    return Machine(fingerprint=sha256_of(machine), **machine)


def processor(cpuinfo: str) -> str:
    """Return the processor and its widest vector instructions: "AMD EPYC, AVX2".

    `cpuinfo` is the text of /proc/cpuinfo. Where it has no name, as on ARM, the architecture is returned.
    """
    lines = (line.partition(":") for line in cpuinfo.splitlines())
    facts = {key.strip(): value.strip() for key, _, value in lines}
    flags = facts.get("flags", "").split()
    name = facts.get("model name", platform.machine())
    widest = [instructions for flag, instructions in _INSTRUCTIONS.items() if flag in flags]
    return ", ".join([name, *widest[:1]])


class Measuring:
    """This process while it measures: at most `threads` cores, and what other processes do."""

    def __init__(self, threads: int) -> None:
        self._host = HostWatch([os.getpid()])
        self.threads = limits.claim_cores(threads)
        self._process = replace(at_start(), threads=self.threads)

    def stop(self) -> MeasuringProcess:
        """Return the process as the result holds it. Call it right after the work."""
        return replace(self._process, life=self._host.life())


def peak_host_bytes() -> int:
    """Return the most memory that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux reports KiB


def ending(process: Process, moment: float | None = None) -> Process:
    """Return the process with `ended` and `age` of now, or of a moment of `time.perf_counter`: see `age`."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return replace(process, ended=now, age=age(moment))


def age(moment: float | None = None) -> float:
    """Return the seconds since this process started, until a moment of `time.perf_counter`, or until now.

    From the kernel's clock since boot: psutil is wrong by up to a second, because it adds the
    time of the boot in whole seconds.
    """
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")  # field 22 of all, after name and state
    counter, boot = time.perf_counter(), time.clock_gettime(time.CLOCK_BOOTTIME)
    return boot - started - (0 if moment is None else counter - moment)


def git_state(folder: Path = Path(__file__).parents[3], code: str = "scripts") -> GitState | None:
    """Return the commit that `folder` is checked out at, and whether tracked files below it differ (`dirty`).

    None where no commit has its `code`: outside a repository, where an archive was unpacked within another
    repository, or without git.
    """
    # The code of this checkout runs already, so git may read it, too, whoever owns it.
    git = ["git", "-c", "safe.directory=*"]
    # A hook of git names its repository in variables.
    shell = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    options: dict[str, Any] = {"cwd": folder, "env": shell, "capture_output": True, "text": True}
    status = ["status", "--porcelain=v2", "--branch", "--untracked-files=no", "--", "."]
    try:
        tracked = subprocess.run([*git, "ls-tree", "HEAD", "--", code], check=False, **options)
        done = subprocess.run([*git, *status], check=False, **options)
    except OSError:
        return None
    lines = done.stdout.splitlines()
    commit = next((text.split()[-1] for text in lines if text.startswith("# branch.oid")), None)
    if done.returncode or commit is None or not tracked.stdout:
        return None
    return GitState(commit, any(not text.startswith("#") for text in lines))


def software(packages: Iterable[str] = ()) -> dict[str, str]:
    """Return the version of Python, and of each of `PACKAGES`, and of `packages`, that is installed."""
    versions = {"python": sys.version.split()[0]}
    for package in (*PACKAGES, *packages):
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions
