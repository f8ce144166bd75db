"""All-reduce by framework: what does it cost to add up a gradient over all replicas?

A framework is one module here, named like its engine, with one function:

    open_group(backend, replicas, world, threads)   open the devices of this process

It returns a `Group` and raises `Unavailable`. `replicas`: of all workers together.
"""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np


class Group(Protocol):
    """The replicas of one backend, in one of its processes."""

    device_names: list[str]  # of this process

    def put(self, elements: int) -> Any:
        """One float32 vector per replica: replica k of n (from 0) holds k + 1 everywhere."""

    def all_reduce(self, vectors: Any) -> Any:
        """Start to add the vectors up; the result is the sum on every replica."""

    def wait(self, sums: Any) -> None:
        """Return when the devices of this process are done."""

    def fetch(self, sums: Any) -> "list[np.ndarray]":
        """The sum as each replica of this process holds it, on the host."""
