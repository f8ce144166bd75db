"""Records of profiles: the costliest operations of a run's training steps, or why there are none."""

import msgspec

from paragone.config.run_spec import Spec
from paragone.records.measurements import MeasuringProcess


class CostlyOperation(msgspec.Struct):
    """An operation per step: its calls, its own milliseconds, and its share of those of all operations."""

    name: str
    calls: float
    milliseconds: float
    share: float


class StepProfile(msgspec.Struct):
    """What the profiler saw of `steps` steps; of several workers, of rank 0.

    `alone_milliseconds` and `profiled_milliseconds` are those of a step by the wall clock, without and with
    the profiler. `operations` has the costliest first. `all_milliseconds` is the sum over all operations of a
    step, threads and streams: more than the clock shows where these work in parallel.
    """

    profiler: str
    version: str
    operations_are: str
    steps: int
    alone_milliseconds: float
    profiled_milliseconds: float
    operations: list[CostlyOperation]
    all_operations: int
    all_milliseconds: float


class ProfileRecord(msgspec.Struct):
    """The profile of a run's training steps; `profile` is None and `reason` says why if `status` is not
    "completed". Statuses are those of runs, and "no_profiler" for an engine that has none."""

    run: str
    spec: Spec
    process: MeasuringProcess
    status: str
    reason: str | None = None
    profile: StepProfile | None = None
