"""Types that pass between the loop and engines: a worker's place, devices, metrics, programs, modes."""

import math
import os
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from paragone.base.typed_json import Count, Part, Whole

# The default of the seconds that workers wait for each other.
JOIN_TIMEOUT = 300.0


class Devices(Part, frozen=True):
    """What a run trains on: the kind of device, copies of the model, and processes."""

    kind: Annotated[str, Meta(pattern="^(cpu|gpu|tpu)$")]
    replicas: Count
    workers: Count


class Metrics(Part, frozen=True):
    """Means over examples: the loss, not finite when the run diverged, and the scores of the task.

    `examples`: the sum of their weights, over all workers, added up and reduced with the others.
    """

    loss: float
    scores: tuple[float, ...]
    examples: float

    @classmethod
    def of_sums(
        cls, loss: float, weight: float, count: float, examples: float, *scores: float
    ) -> "Metrics":
        """The quotients of sums over examples; scores of 0 where nothing counts, and no finite loss."""
        means = tuple(score / count if count else 0.0 for score in scores)
        return cls(loss / weight if weight else math.nan, means, examples)


class Programs(Part, frozen=True):
    """How many programs a framework has compiled for a run, and how many it has found in its cache."""

    compiled: Whole
    cached: Whole


class Modes(Part, frozen=True):
    """The modes that a framework reports as in force.

    `math_mode`: how it multiplies float32 matrices: "ieee", or "tf32" or "bfloat16" where it rounds them
    first. `deterministic`: whether it uses only kernels that repeat to the last bit. `collectives`: the
    library that adds up over devices or processes (nccl, gloo, ring, xla), None with one.
    """

    math_mode: str
    deterministic: bool
    collectives: str | None


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
        """Return whether all workers communicate through the loopback interface."""
        return all(address.startswith("127.") for address in self.addresses)


ALONE = World(0, 1, 0, 1, 0, 1, (), (os.getpid(),), JOIN_TIMEOUT)
