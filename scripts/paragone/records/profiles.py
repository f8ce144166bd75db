"""Profiles of training steps, why a way is as fast as it is: checked and written, read back and checked.

Fields, their units and what a null means are described in rules/schemas/profile.schema.json.
"""

import math
from dataclasses import dataclass

from paragone.config.run_spec import Spec
from paragone.records.measurements import MeasuringProcess
from paragone.records.run_record import Json
from paragone.records.schemas import valid


@dataclass
class Profiler:
    """What profiled: the framework's own profiler, and the version of the framework."""

    name: str
    version: str


@dataclass
class StepTimes:
    """Milliseconds of a step by the clock on the wall: without the profiler, and under it."""

    alone: float
    profiled: float


@dataclass
class CostlyOperation:
    """Per step: calls, and milliseconds in the operation itself; `share` of those of all operations."""

    name: str
    calls: float
    milliseconds: float
    share: float


@dataclass
class AllOperations:
    """How many operations by name, and the milliseconds of all in a step, over all threads or streams."""

    names: int
    milliseconds: float


@dataclass
class ProfileRecord:
    """The costliest operations of a run's training steps, costliest first, or why there are none."""

    schema: int
    run: str
    spec: Spec
    status: str
    reason: str | None
    process: MeasuringProcess
    profiler: Profiler | None
    steps: int | None
    step_milliseconds: StepTimes | None
    operations: list[CostlyOperation]
    all_operations: AllOperations | None
    operations_are: str | None


def check_profile(data: Json) -> ProfileRecord:
    """The profile; `ValueError` if it breaks its schema or contradicts itself."""
    record = valid(ProfileRecord, data, "profile")
    if record.run != record.spec.name:
        raise ValueError(f"run: the specification is that of {record.spec.name}")
    times = [one.milliseconds for one in record.operations]
    if times != sorted(times, reverse=True):
        raise ValueError("operations: not the costliest first")
    if whole := record.all_operations:
        for one in record.operations:
            if not math.isclose(one.milliseconds, one.share * whole.milliseconds, rel_tol=1e-6):
                raise ValueError(f"operations: the share of {one.name} is not that of its time")
    return record
