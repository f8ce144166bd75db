"""All-reduce by framework: what does it cost to add up a gradient over all replicas?

A framework is one module here, named like its engine, with one function:

    open_group(backend, place, threads)   open this process's devices; raises `Unavailable`

It returns a `Group`. The strategies of `WORKERS` have a process a replica, all others drive every
replica from one process. Standard library only: the Snakefile imports this package at parse time.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

WORKERS = ("ddp", "multiworker")


@dataclass(frozen=True)
class Place:
    """Where a process stands: which of `workers` it is, and how many replicas they have together.

    `addresses`: host:port of each worker, on the loopback device; `folder`: empty, shared by all.
    """

    rank: int
    workers: int
    replicas: int
    addresses: tuple[str, ...]
    folder: str


class Group(Protocol):
    """All replicas of one backend, as one of its processes sees them."""

    device_names: list[str]  # of this process

    def put(self, elements: int) -> Any:
        """A float32 vector a replica: replica k of n (from 0) holds k + 1 everywhere."""

    def all_reduce(self, vectors: Any) -> Any:
        """Start to add the vectors up; the result is the sum on every replica."""

    def wait(self, sums: Any) -> None:
        """Return when the devices of this process are done."""

    def fetch(self, sums: Any) -> "list[np.ndarray]":
        """The sum as each replica of this process holds it, on the host."""
