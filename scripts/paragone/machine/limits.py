"""Limits of a process: its cores and its memory, those of its control group among them."""

import ctypes
import os
import resource
from contextlib import suppress
from pathlib import Path

import psutil

from paragone.machine import cgroups

# What glibc reserves for a thread where stacks have no limit; with one, it is as much as that: 8 MiB often.
_STACK_BYTES = 2 * 2**20
_libc = ctypes.CDLL(None)


def claim_cores(threads: int, part: int = 0, parts: int = 1) -> int:
    """Restrict this process to at most `threads` of its cores, and to its CPU quota; return how many.

    A quota of 2.5 cores is two: threads beyond it would be held back in the middle of a step.
    Of several workers on the same cores each takes its part of them; where there are fewer cores than
    workers, they share. Affinity is the only limit that every framework obeys; PyTorch/XLA has no other.
    """
    if quota := cgroups.cpu_quota():
        threads = min(threads, max(1, int(quota)))
    cores = sorted(os.sched_getaffinity(0))[:threads]
    own = cores[part * len(cores) // parts : (part + 1) * len(cores) // parts]
    own = own or [cores[part % len(cores)]]
    os.sched_setaffinity(0, own)
    return len(own)


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
    """Return the free memory: of the machine, or of this process's control groups if that is less."""
    free, allowed = psutil.virtual_memory().available, cgroups.available_bytes()
    return free if allowed is None else min(free, allowed)
