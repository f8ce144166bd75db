"""The least time of a compiled step: arithmetic, memory and links, each at its documented peak.

    compute = FLOP / peak FLOP/s      of convolutions and products of matrices, done directly
    memory  = bytes / bandwidth       that operations left after fusion read from main memory and write to it
    links   = bytes / bandwidth       that a device sends: for an all-reduce of n chips 2 (n-1)/n of it

All of one device. A step takes at least the longest of the three, even if they overlap whole (the roofline
of Williams, Waterman and Patterson, Communications of the ACM 52(4), 2009, doi:10.1145/1498765.1498785); if
nothing overlaps, their sum. Bytes over links are those of Patarasuk and Yuan (Journal of Parallel and
Distributed Computing 69, 2009, doi:10.1016/j.jpdc.2008.09.002), the least that any algorithm sends whose
sums are made by the devices. Devices of one chip add first, and share its links. Latencies, dispatch and
input are 0.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from paragone.records.compilations import CollectiveUse, CompilationRecord, CompiledProgram, Cost

PARTS = ("compute", "memory", "links")
_FLOAT = 4  # bytes


@dataclass(frozen=True)
class Bound:
    """Seconds of one step; None where a count or a peak is not known."""

    compute: float | None
    memory: float | None
    links: float | None

    @property
    def known(self) -> dict[str, float]:
        """The parts that are known, by name."""
        parts = {name: getattr(self, name) for name in PARTS}
        return {name: seconds for name, seconds in parts.items() if seconds is not None}

    @property
    def seconds(self) -> float:
        """No step is shorter: all parts overlap."""
        return max(self.known.values())

    @property
    def binds(self) -> str:
        """The part that decides it."""
        return max(self.known, key=self.known.__getitem__)

    @property
    def apart(self) -> float:
        """What a device needs that reaches each peak, one part after the other."""
        return sum(self.known.values())


def bound(record: CompilationRecord) -> Bound | None:
    """The bound of a compiled step; None where nothing was compiled."""
    cost, target = record.cost, record.target
    if cost is None:
        return None
    peak, flop = target.flops.get(record.program.precision), flop_of(record.program, cost)
    return Bound(
        compute=flop / peak if flop is not None and peak else None,
        memory=(
            None if cost.memory_traffic is None else cost.memory_traffic / target.memory_bandwidth
        ),
        links=sent(record.collectives, target.per_chip) / target.link_bandwidth,
    )


def counted_flop(program: CompiledProgram) -> float | None:
    """FLOP of one device in a training step, as the framework counts them; None where it does not."""
    if program.step != "train" or program.flop_per_example is None:
        return None
    return program.flop_per_example * program.global_batch / program.devices


def flop_of(program: CompiledProgram, cost: Cost | None) -> float | None:
    """FLOP of one device in one step: the framework's count, or the compiler's where that is less.

    A compiler may leave out products with the zeros of a padding; and it counts all other operations, which
    makes its count the larger one as a rule.
    """
    counts = (counted_flop(program), cost.flop if cost else None)
    return min((one for one in counts if one is not None), default=None)


def gathers_activations(record: CompilationRecord) -> bool:
    """Whether devices gather arrays larger than all weights and the whole batch of inputs.

    Then the compiler has not divided by examples what comes after, and each device computes it for all.
    """
    program = record.program
    inputs = program.global_batch * math.prod(program.shape)
    largest = max((one.bytes for one in record.collectives if one.kind == "all-gather"), default=0)
    return largest > _FLOAT * max(program.parameters or 0, inputs)


def sent(collectives: Iterable[CollectiveUse], per_chip: int = 1) -> float:
    """The least bytes that one device sends in a step; those of a chip have equal parts of what it sends."""
    return sum(_sent(one, per_chip) * one.count for one in collectives)


def _sent(one: CollectiveUse, per_chip: int) -> float:
    chips = math.ceil(one.group / per_chip)
    others = (chips - 1) / chips  # the share of a result that other chips have
    match one.kind:
        case "all-reduce":
            return 2 * others * one.bytes / per_chip
        case "reduce-scatter":
            return float((chips - 1) * one.bytes)  # its result is the n-th part
        case "all-to-all":
            return others * one.bytes
        case "collective-permute":
            return float(one.bytes) if chips > 1 else 0.0
    return others * one.bytes / per_chip  # all-gather, collective-broadcast
