"""Cores of this host that no other run has: runs side by side would all take the first ones."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from paragone.base.locks import Held, Lock


@contextmanager
def free_cores(count: int) -> Iterator[list[int]]:
    """Hold so many of this process's cores during the block, first those that no other process holds.

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
