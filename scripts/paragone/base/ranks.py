"""Which worker of a run this process is, and where the others are. Standard library only."""

import os
from dataclasses import dataclass

# The default of the seconds that workers wait for each other.
JOIN_TIMEOUT = 300.0


@dataclass(frozen=True)
class World:
    """One worker among those of its run.

    `local_rank` and `local_workers` number the workers that see the same accelerators of one host;
    `core_rank` and `core_workers` those that may use the same cores. `addresses`: host:port of every rank,
    where the port is free for this run; empty for a single worker. `host_pids`: the processes of the workers
    of this host, in the order of their ranks. `timeout`: seconds that a framework waits for a stuck worker.
    """

    rank: int
    workers: int
    local_rank: int
    local_workers: int
    core_rank: int
    core_workers: int
    addresses: tuple[str, ...]
    host_pids: tuple[int, ...]
    timeout: float

    def address(self, rank: int) -> tuple[str, int]:
        """Host and port of a rank."""
        host, _, port = self.addresses[rank].rpartition(":")
        return host, int(port)

    @property
    def on_one_host(self) -> bool:
        """Whether all workers communicate through the loopback interface."""
        return all(address.startswith("127.") for address in self.addresses)


ALONE = World(0, 1, 0, 1, 0, 1, (), (os.getpid(),), JOIN_TIMEOUT)
