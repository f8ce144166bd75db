"""Limits of a process: its cores and its memory, those of its control group among them."""

import os
import resource
from pathlib import Path

import psutil

_ROOT = Path("/sys/fs/cgroup")


def claim_cores(threads: int, part: int = 0, parts: int = 1) -> int:
    """Restrict this process to at most `threads` of its cores; return how many.

    Of several workers on the same cores each takes its part of them; where there are fewer cores than
    workers, they share. Affinity is the only limit that every framework obeys; PyTorch/XLA has no other.
    """
    cores = sorted(os.sched_getaffinity(0))[:threads]
    own = cores[part * len(cores) // parts : (part + 1) * len(cores) // parts]
    own = own or [cores[part % len(cores)]]
    os.sched_setaffinity(0, own)
    return len(own)


def limit_memory(workers: int = 1) -> None:
    """Cap the allocations of this process at 90 % of free memory or the existing limit, whichever is lower.

    The free memory is divided evenly by `workers` on this host. An allocation beyond the cap fails, which
    the run can report; without it the kernel would kill this process, and perhaps others.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    limit = min([int(0.9 * psutil.virtual_memory().available / workers), *limits])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def available_bytes() -> int:
    """Free memory: the smallest of the machine's and of each enclosing cgroup's (v2)."""
    left = [psutil.virtual_memory().available]
    for group in _groups():
        try:
            limit = (group / "memory.max").read_text().strip()
            used = int((group / "memory.current").read_text())
            cached = _field(group / "memory.stat", "inactive_file")
        except (OSError, ValueError):
            continue  # no limit on this level
        if limit != "max":
            left.append(int(limit) - used + cached)
    return max(0, min(left))


def _groups() -> list[Path]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        if line.startswith("0::/"):
            group = _ROOT / line.removeprefix("0::/")
            return [group, *(one for one in group.parents if one.is_relative_to(_ROOT))]
    return []


def _field(path: Path, name: str) -> int:
    words = path.read_text().split()
    return int(words[words.index(name) + 1])
