"""Limits of a process: its cores and its memory, those of its control groups among them."""

import ctypes
import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from paragone.base.locks import Held, Lock

# What glibc reserves for a thread where stacks have no limit; with one, it is as much as that: 8 MiB often.
_STACK_BYTES = 2 * 2**20
_MEMBERSHIP = Path("/proc/self/cgroup")
_MOUNT = Path("/sys/fs/cgroup")
_libc = ctypes.CDLL(None)


def claim_cores(threads: int, part: int = 0, parts: int = 1) -> int:
    """Restrict this process to at most `threads` of its cores, and to its CPU quota; return how many.

    A quota of 2.5 cores is two: threads beyond it would be held back in the middle of a step.
    Of several workers on the same cores each takes its part of them; where there are fewer cores than
    workers, they share. Affinity is the only limit that every framework obeys; PyTorch/XLA has no other.
    """
    limits = (" ".join(_lines(group / "cpu.max")).split() for group in _groups("cpu"))
    quotas = [int(limit[0]) / int(limit[1]) for limit in limits if limit and limit[0] != "max"]
    threads = max(1, int(min([threads, *quotas])))
    cores = sorted(os.sched_getaffinity(0))[:threads]
    claimed = cores[part * len(cores) // parts : (part + 1) * len(cores) // parts]
    claimed = claimed or [cores[part % len(cores)]]
    os.sched_setaffinity(0, claimed)
    return len(claimed)


@contextmanager
def free_cores(count: int) -> Iterator[list[int]]:
    """Hold so many of this process's cores during the block, first those that no other run holds.

    Where too few are free, the rest is shared. A core is held by the lock of a file in the host's temporary
    folder; one whose lock cannot be taken for another reason counts as not free.
    """
    cores = sorted(os.sched_getaffinity(0))
    free: list[int] = []
    with ExitStack() as held:
        for core in cores:
            if len(free) < count:
                with suppress(Held, OSError):
                    path = Path(tempfile.gettempdir()) / f"paragone-core-{core}"
                    held.callback(Lock(path, shared=True).release)
                    free.append(core)
        yield [*free, *(core for core in cores if core not in free)][:count]


def limit_memory(workers: int = 1) -> None:
    """Cap the allocations of this process at 90 % of free memory or the existing limit, whichever is lower.

    The free memory, that of `available_bytes`, is divided evenly by `workers` on this host. An allocation
    beyond the cap fails, which the run can report; without it the kernel would kill this process, and
    perhaps others. The cap counts stacks of threads as they are reserved, not as they are used; from now on
    a thread reserves 2 MiB.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    limit = min([int(0.9 * available_bytes() / workers), *limits])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    attributes = ctypes.create_string_buffer(64)  # pthread_attr_t has 56 bytes on 64 bits
    if not _libc.pthread_getattr_default_np(attributes):
        _libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_STACK_BYTES))
        _libc.pthread_setattr_default_np(attributes)


def end_first() -> None:
    """Let the kernel, where memory is full, end this process before any other."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")


def available_bytes() -> int:
    """Return the free memory: of the machine, or what the tightest control group leaves if that is less.

    The page cache that the kernel can drop counts as free.
    """
    left = [psutil.virtual_memory().available]
    for group in _groups("memory"):
        for limit, usage, cached in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            most = "".join(_lines(group / limit))
            if most.isdecimal():  # not "max"
                unused = int(most) - int("".join(_lines(group / usage)))
                left.append(unused + _field(group / "memory.stat", cached))
    return max(0, min(left))


def memory_counts() -> tuple[int, int]:
    """Return how many processes of the control groups the kernel has killed for their memory, those killed
    because the whole host's was full included; and how often a limit of the groups was reached.
    """
    groups = _groups("memory")
    files = ("memory.events", "memory.oom_control")
    kills = (_field(group / name, "oom_kill") for group in groups for name in files)
    reached = (
        _field(group / "memory.events", "oom")
        or int("".join(_lines(group / "memory.failcnt")) or 0)
        for group in groups
    )
    return max(kills, default=0), sum(reached)


def memory_was_full(before: tuple[int, int]) -> bool:
    """Return whether the kernel has killed a process at a limit of its groups since `memory_counts` returned
    `before`.
    """
    return all(now > then for now, then in zip(memory_counts(), before, strict=True))


def throttled_seconds() -> float:
    """Return the seconds for which CPU quotas have held this process's control groups back."""
    return sum(_field(group / "cpu.stat", "throttled_usec") for group in _groups("cpu")) / 1e6


def _groups(controller: str) -> list[Path]:
    """The folders of this process's control group and of those around it, the innermost first.

    All limits are read as version 2 has them, those of memory as version 1 has them, too: hosts that give
    containers a limit of memory still use it. A container may see the outermost group alone, its own.
    """
    folders = []
    for line in _lines(_MEMBERSHIP):
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory") and controllers in ("", controller):
            root = _MOUNT / controllers
            group = root / path.lstrip("/")
            outer = [parent for parent in group.parents if parent.is_relative_to(root)]
            folders += [folder for folder in (group, *outer) if folder.is_dir()]
    return folders


def _field(path: Path, name: str) -> int:
    """The number behind a name in a file of such lines; 0 if either is missing."""
    return int(dict(line.split(maxsplit=1) for line in _lines(path)).get(name, 0))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
