"""Records of steps that were compiled and not run: checked and written, read back and checked again.

Fields, their units and what a null means are described in rules/schemas/compilation.schema.json.
"""

from dataclasses import dataclass
from typing import Any

from paragone.records.measurements import MeasuringProcess
from paragone.records.run_record import Json
from paragone.records.schemas import valid

COMPILED, TOO_LARGE, REFUSED = "compiled", "too_large", "refused"
NO_COMPILER, NOT_EXPORTED = "no_compiler", "not_exported"


@dataclass
class CompiledProgram:
    """What was compiled: one step of a workload, as a backend's framework exports it."""

    name: str
    workload: str
    model: dict[str, Any]
    backend: str
    engine: str
    step: str
    precision: str
    devices: int
    global_batch: int
    shape: list[int]
    parameters: int | None
    flop_per_example: int | None
    flop_counter: str | None
    replicas: int | None
    partitions: int | None
    stablehlo_sha256: str | None
    stablehlo_bytes: int | None
    software: dict[str, str]


@dataclass
class CompiledTarget:
    """What it was compiled for, with the documented peaks of one device."""

    name: str
    label: str
    device: str
    compiler: str
    topology: str
    devices: int
    flops: dict[str, float]
    memory: float
    memory_bandwidth: float
    link_bandwidth: float
    cache: int
    per_chip: int
    sources: dict[str, str]


@dataclass
class Cost:
    """The compiler's counts, of one device."""

    flop: float | None
    bytes_accessed: float | None
    memory_traffic: float | None
    transcendentals: float | None
    estimated_seconds: float | None


@dataclass
class MemoryUse:
    """Bytes of one device."""

    arguments: int
    outputs: int
    aliased: int
    temporary: int
    code: int
    total: int


@dataclass
class CollectiveUse:
    """`count` equal collectives of a step."""

    kind: str
    bytes: int
    group: int
    count: int


@dataclass
class CompilationRecord:
    """One program compiled for one target, or why it was not."""

    schema: int
    program: CompiledProgram
    target: CompiledTarget
    status: str
    reason: str | None
    compile_seconds: float | None
    cost: Cost | None
    memory: MemoryUse | None
    fits: bool | None
    excess_bytes: int | None
    collectives: list[CollectiveUse]
    software: dict[str, str]


@dataclass
class Traffic:
    """Timed runs that read and write so many bytes of memory, or add so many over devices."""

    bytes: int
    runs: list[float]


@dataclass
class MeasuredStep:
    """A step compiled for the CPU of this machine and run there: `calls` steps per run, seconds of each.

    Over several devices, which share its cores, with `all_reduce`: the bytes are those of its result.
    """

    schema: int
    program: CompiledProgram
    process: MeasuringProcess
    cost: Cost
    collectives: list[CollectiveUse]
    calls: int
    runs: list[float]
    traffic: Traffic
    all_reduce: Traffic | None


@dataclass
class Try:
    """One compilation at a batch per device."""

    per_device: int
    status: str
    reason: str | None
    total_bytes: int | None
    excess_bytes: int | None


@dataclass
class LargestBatch:
    """What was tried to find the largest batch of a device that a training step fits with."""

    schema: int
    name: str
    workload: str
    model: dict[str, Any]
    backend: str
    precision: str
    shape: list[int]
    target: CompiledTarget
    tries: list[Try]
    software: dict[str, str]

    @property
    def fits(self) -> int | None:
        """The largest batch that was compiled and fits; None where none does."""
        return max((one.per_device for one in self.tries if one.status == COMPILED), default=None)

    @property
    def exceeds(self) -> int | None:
        """The smallest batch that was compiled and does not fit; None where none was."""
        return min((one.per_device for one in self.tries if one.status == TOO_LARGE), default=None)


def check_largest_batch(data: Json) -> LargestBatch:
    """The record; `ValueError` if it breaks its schema or a larger batch fits than one that does not."""
    result = valid(LargestBatch, data, "largest_batch")
    if result.fits and result.exceeds and result.fits >= result.exceeds:
        raise ValueError(f"tries: {result.fits} fits and {result.exceeds} does not")
    return result


def check_measured_step(data: Json) -> MeasuredStep:
    """The result; `ValueError` if it breaks its schema, one device has an all-reduce or several none."""
    result = valid(MeasuredStep, data, "measured_step")
    if (result.program.devices > 1) != (result.all_reduce is not None):
        raise ValueError(f"all_reduce: contradicts program.devices, {result.program.devices}")
    return result


def check_compilation(data: Json) -> CompilationRecord:
    """The record; `ValueError` if it breaks its schema, its sums are wrong or it contradicts itself."""
    record = valid(CompilationRecord, data, "compilation")
    if record.program.devices != record.target.devices:
        raise ValueError("program.devices: not those of the target")
    if used := record.memory:
        parts = used.arguments + used.outputs - used.aliased + used.temporary + used.code
        if used.total != parts:
            raise ValueError(f"memory.total: {used.total} is not the sum of its parts, {parts}")
        if record.fits != (used.total <= record.target.memory):
            raise ValueError("fits: contradicts memory.total and target.memory")
    return record
