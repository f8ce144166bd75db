"""The cost model of a training step of n replicas: compute and all-reduce.

    step      = compute + all-reduce
    compute   = host + k (replica + example b)        b examples per replica
    all-reduce = 2 (n-1) latency + 2 (n-1)/n k bytes / bandwidth

The all-reduce is a ring's: n-1 messages to reduce and n-1 to gather, each of bytes/n (Patarasuk and
Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", Journal of Parallel
and Distributed Computing 69, 2009, doi:10.1016/j.jpdc.2008.09.002). k is 1 where each replica has
a device and a link of its own, and n where all replicas share the cores and the memory of one
machine: then compute does not shrink with n, and the traffic of all replicas adds up.

Nothing overlaps: an all-reduce that overlaps with the backward pass makes a step shorter than this.
Times in seconds, sizes in bytes.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy


@dataclass(frozen=True)
class AllReduce:
    """`latency`: seconds per message; `seconds_per_byte`: inverse of the bandwidth of a link."""

    latency: float
    seconds_per_byte: float

    def seconds(self, replicas: float, size: float, *, shared: bool) -> float:
        """Seconds of one all-reduce of `size` bytes per replica."""
        costs = [self.latency, self.seconds_per_byte]
        return float(np.dot(_messages(replicas, size, shared), costs))


@dataclass(frozen=True)
class Compute:
    """Seconds per step (`host`), per step of a replica (`replica`) and per example (`example`)."""

    host: float
    replica: float
    example: float

    def seconds(self, replicas: float, batch: float, *, shared: bool) -> float:
        """Seconds of one step with `batch` examples per replica, without the all-reduce."""
        parts = [self.host, self.replica, self.example]
        return float(np.dot(_work(replicas, batch, shared), parts))


@dataclass(frozen=True)
class StepModel:
    """A workload on one kind of device: `size` bytes of gradients are reduced in every step."""

    compute: Compute
    all_reduce: AllReduce
    size: int
    shared: bool

    def seconds(self, replicas: float, batch: float) -> float:
        """Seconds of one step with `batch` examples per replica."""
        shared = {"shared": self.shared}
        each = self.compute.seconds(replicas, batch, **shared)
        return each + self.all_reduce.seconds(replicas, self.size, **shared)

    def on_own_devices(self, link: AllReduce) -> "StepModel":
        """The same workload with such a device per replica, joined by `link`."""
        return StepModel(self.compute, link, self.size, shared=False)


@dataclass(frozen=True)
class Fit:
    """Non-negative coefficients that minimize the squared relative error.

    `left_out`: per point, the prediction of the fit to all other points; NaN where those do not
    determine every coefficient.
    """

    coefficients: np.ndarray
    left_out: np.ndarray


def fit_all_reduce(cases: pd.DataFrame, *, shared: bool) -> tuple[AllReduce, Fit]:
    """Latency and bandwidth from measured all-reduces; columns: replicas, bytes, median (seconds).

    The constant cost of a call is fitted too, and dropped: a single replica has it as well, so it
    belongs to the measuring program, or to the compute of a step.
    """
    sizes = zip(cases["replicas"].astype(float), cases["bytes"].astype(float), strict=True)
    rows = np.array([[1.0, *_messages(*pair, shared)] for pair in sizes])
    fit = _fit(rows, cases["median"].to_numpy(float), np.zeros(len(rows)))
    return AllReduce(*map(float, fit.coefficients[1:])), fit


def fit_compute(
    cells: pd.DataFrame, all_reduce: AllReduce, size: int, *, shared: bool
) -> tuple[Compute, Fit]:
    """The parts of compute from measured steps minus the all-reduce, which is taken as measured.

    `cells`: columns replicas, per_replica_batch, seconds (per step). With one device per replica the
    costs per step and per replica cannot be separated: all of it is then assigned to the replica.
    """
    pairs = list(zip(cells["replicas"], cells["per_replica_batch"], strict=True))
    known = np.array([all_reduce.seconds(n, size, shared=shared) for n, _ in pairs])
    rows = np.array([_work(n, batch, shared) for n, batch in pairs], dtype=float)
    rows = rows if shared else rows[:, 1:]
    fit = _fit(rows, cells["seconds"].to_numpy(float), known)
    parts = [float(part) for part in fit.coefficients]
    return Compute(*(parts if shared else [0.0, *parts])), fit


def _messages(replicas: float, size: float, shared: bool) -> list[float]:
    """Sequential messages, and bytes over one link, of a ring."""
    others = 2 * (replicas - 1)
    return [others, others * size / (1 if shared else replicas)]


def _work(replicas: float, batch: float, shared: bool) -> list[float]:
    """Steps, replica steps and examples that one device processes in sequence."""
    times = replicas if shared else 1
    return [1.0, times, times * batch]


def _fit(rows: np.ndarray, values: np.ndarray, known: np.ndarray) -> Fit:
    """Coefficients c >= 0 of `rows` @ c + `known` = `values`, weighted by the inverse of each value."""
    left_out = np.full(len(values), np.nan)
    for at in range(len(values)):
        others = np.arange(len(values)) != at
        if np.linalg.matrix_rank(rows[others]) == rows.shape[1]:
            found = _solve(rows[others], values[others], known[others])
            left_out[at] = rows[at] @ found + known[at]
    return Fit(_solve(rows, values, known), left_out)


def _solve(rows: np.ndarray, values: np.ndarray, known: np.ndarray) -> np.ndarray:
    return scipy.optimize.nnls(rows / values[:, None], (values - known) / values)[0]
