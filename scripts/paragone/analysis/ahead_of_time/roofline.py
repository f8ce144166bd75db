"""The least time of a compiled step: arithmetic, memory and links, each at its documented peak.

    compute = FLOP / peak FLOP/s      of convolutions and products of matrices, as frameworks count them
    memory  = bytes / bandwidth       that operations left after fusion read from main memory and write to it
    links   = bytes / bandwidth       that a device sends: for an all-reduce of n devices 2 (n-1)/n of it

All of one device. A step takes at least the longest of the three, even if they overlap whole (the roofline
of Williams, Waterman and Patterson, Communications of the ACM 52(4), 2009, doi:10.1145/1498765.1498785); if
nothing overlaps, their sum. Bytes over links are those of Patarasuk and Yuan (Journal of Parallel and
Distributed Computing 69, 2009, doi:10.1016/j.jpdc.2008.09.002), the least that any algorithm sends.
Latencies, dispatch and input are 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from paragone.records.compilations import CollectiveUse, CompilationRecord

PARTS = ("compute", "memory", "links")
# What a device sends, in bytes of the result: of n devices a share of (n-1)/n is on the others.
_TIMES = {
    "all-reduce": 2.0,
    "all-gather": 1.0,
    "all-to-all": 1.0,
    "collective-permute": 1.0,
    "collective-broadcast": 1.0,
}


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
    peak, flop = target.flops.get(record.program.precision), flop_of(record)
    return Bound(
        compute=flop / peak if flop is not None and peak else None,
        memory=(
            None if cost.memory_traffic is None else cost.memory_traffic / target.memory_bandwidth
        ),
        links=sent(record.collectives) / target.link_bandwidth,
    )


def flop_of(record: CompilationRecord) -> float | None:
    """FLOP of one device in one step: the framework's count for training; the compiler's for evaluation."""
    program = record.program
    if program.step == "train" and program.flop_per_example is not None:
        return program.flop_per_example * program.batch / program.devices
    return record.cost.flop if record.cost else None


def sent(collectives: Iterable[CollectiveUse]) -> float:
    """The least bytes that one device sends in a step."""
    return sum(_sent(one) * one.count for one in collectives)


def _sent(one: CollectiveUse) -> float:
    if one.group == 1:
        return 0.0
    if one.kind == "reduce-scatter":
        return float((one.group - 1) * one.bytes)  # its result is the n-th part
    if one.kind == "collective-permute":
        return float(one.bytes)
    return _TIMES[one.kind] * (one.group - 1) / one.group * one.bytes
