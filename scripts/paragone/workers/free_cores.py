"""Cores of this host that no other run has: runs side by side would all take the first ones."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def free_cores(count: int) -> Iterator[list[int]]:
    """So many of this process's cores, those first that no other process holds by this; held in the block.

    Where too few are free, the rest is shared. A core is held by the name of a socket, which the kernel
    releases however its holder ends.
    """
    cores = sorted(os.sched_getaffinity(0))
    with ExitStack() as held:
        free: list[int] = []
        for core in cores:
            if len(free) < count and _hold(core, held):
                free.append(core)
        yield [*free, *(core for core in cores if core not in free)][:count]


def _hold(core: int, held: ExitStack) -> bool:
    """Whether the core is held from now on."""
    name = held.enter_context(socket.socket(socket.AF_UNIX))
    try:
        name.bind(f"\0paragone core {core}")  # no file: of the host, or of the container
    except OSError:
        return False
    return True
