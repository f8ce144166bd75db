"""The collective operations of a compiled program, read from its HLO."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from paragone.records.run_record import Json

KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
)
_OPERATION = re.compile(
    rf"^\s*(?:ROOT )?%?[\w.\-]+ = (?P<shape>.*?) (?P<kind>{'|'.join(KINDS)})(?P<start>-start)?\("
)
# An array's type, sizes and, if it is given, layout: f32[128,10]{1,0:T(8,128)}.
ARRAY = re.compile(r"\b(?P<kind>[a-z]+\d*[a-z0-9]*)\[(?P<sizes>[\d,]*)\](?P<layout>\{[^}]*\})?")
_BITS = re.compile(r"\d+")
# The three ways in which HLO writes groups: lists of devices; groups x size; axes of a mesh.
_LISTS = re.compile(r"replica_groups=\{\{([\d,]*)\}")
_GRID = re.compile(r"replica_groups=\[(\d+),(\d+)\]")
_MESH = re.compile(r"replica_groups=mesh\[([^\]]*)\] ?\{([^}]*)\}")
_AXIS = re.compile(r"'([^']+)'=(\d+)")


@dataclass(frozen=True)
class Collective:
    """One operation: `bytes` of its result on each device, `group`: the devices that take part together."""

    kind: str
    bytes: int
    group: int


def collectives_of(hlo: str, devices: int) -> list[Collective]:
    """The collectives of a module's text, in its order. `devices`: of the whole program."""
    found = []
    for line in hlo.splitlines():
        if match := _OPERATION.match(line):
            arrays = ARRAY.finditer(match["shape"])
            sizes = [array_bytes(one["kind"], one["sizes"]) for one in arrays]
            if match["start"] and match["kind"] != "all-reduce":
                sizes = sizes[len(sizes) // 2 :]  # its shape lists operands before results
            found.append(Collective(match["kind"], sum(sizes), _group(line, devices)))
    return found


def counted(collectives: Iterable[Collective]) -> list[Json]:
    """As records have them: equal ones once, with their `count`."""
    return [{**asdict(one), "count": count} for one, count in Counter(collectives).items()]


def array_bytes(kind: str, sizes: str) -> int:
    """Of an array such as f32[128,10]: the digits of its type are bits; pred, a truth value, has a byte."""
    digits = _BITS.search(kind)
    bits = int(digits[0]) if digits else 8
    return math.ceil(math.prod(int(size) for size in sizes.split(",") if size) * bits / 8)


def _group(line: str, devices: int) -> int:
    if found := _LISTS.search(line):
        return len(found[1].split(","))
    if found := _GRID.search(line):
        return int(found[2])
    if found := _MESH.search(line):
        sizes = dict(_AXIS.findall(found[1]))
        return math.prod(int(sizes[axis]) for axis in re.findall(r"'([^']+)'", found[2]))
    return devices  # no groups: all together
