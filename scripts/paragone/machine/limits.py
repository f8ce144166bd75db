"""Limits of a process: its cores and its memory, those of its control group among them."""

import os
import resource

import psutil

from paragone.machine import cgroups


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

    The free memory, that of `available_bytes`, is divided evenly by `workers` on this host. An allocation
    beyond the cap fails, which the run can report; without it the kernel would kill this process, and
    perhaps others.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    limit = min([int(0.9 * available_bytes() / workers), *limits])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def available_bytes() -> int:
    """Free memory: of the machine, or of this process's control groups if that is less."""
    free, allowed = psutil.virtual_memory().available, cgroups.available_bytes()
    return free if allowed is None else min(free, allowed)
