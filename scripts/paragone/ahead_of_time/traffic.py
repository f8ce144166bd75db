"""What a compiled TPU program reads from and writes to its main memory, read from its HLO.

The compiler's own count has the operands and results of every operation, wherever they are. From TPU v4
on it keeps many in on-chip memory, which it marks in their layouts (`S(1)`): they cost no bandwidth of the
main one.
"""

import re
from collections.abc import Iterator

from paragone.ahead_of_time.collectives import ARRAY, array_bytes

_INSTRUCTION = re.compile(
    r"^\s*(?:ROOT )?(?P<name>%[\w.\-]+) = (?P<shape>.*?) (?P<kind>[a-z][\w\-]*)\((?P<operands>[^)]*)\)"
)
_NAME = re.compile(r"%[\w.\-]+")
_ON_CHIP = re.compile(r"S\([1-9]\d*\)")
# Axes from the fastest to the slowest, and the tile of the fastest ones.
_TILED = re.compile(r"\{(?P<order>[\d,]*):T\((?P<tile>[\d,]+)\)")
# They move nothing: names for what is there, and the ends of what was counted at its start.
_FREE = {
    "parameter",
    "constant",
    "tuple",
    "get-tuple-element",
    "bitcast",
    "after-all",
    "opt-barrier",
}
_PARTS_OF_OPERANDS = ("slice-start", "dynamic-slice-start", "async-start")


def traffic(hlo: str) -> int:
    """Bytes of one step, of the operations of the entry computation; loops count once.

    An operand counts whole, also for a fusion that reads a part of it.
    """
    sizes: dict[str, int] = {}
    total = 0
    for line in _entry(hlo):
        found = _INSTRUCTION.match(line)
        if found is None:
            continue
        kind, operands = found["kind"], set(_NAME.findall(found["operands"]))
        arrays = [
            (_stored(**one.groupdict()), not _ON_CHIP.search(one["layout"] or ""))
            for one in ARRAY.finditer(found["shape"])
        ]
        sizes[found["name"]] = sum(size for size, in_main in arrays if in_main)
        if kind in _FREE or kind.endswith("-done"):
            continue
        read = sum(sizes.get(name, 0) for name in operands)
        if kind in (*_PARTS_OF_OPERANDS, "copy-start"):
            # Their shape lists results, operands and a context of the transfer.
            moved = arrays[0] if kind == "copy-start" else arrays[-2]
            total += min(read, moved[0]) + (moved[0] if moved[1] else 0)
        else:
            total += read + sizes[found["name"]]
    return total


def _stored(kind: str, sizes: str, layout: str | None) -> int:
    """Bytes of an array as it is stored: its last dimensions, in the order of the layout, fill whole tiles.

    f32[128,10]{1,0:T(8,128)} has 128 x 128 elements in memory.
    """
    found = _TILED.match(layout or "")
    if found is None:
        return array_bytes(kind, sizes)
    dimensions = [int(size) for size in sizes.split(",") if size]
    order = [int(axis) for axis in found["order"].split(",") if axis]
    tile = [int(size) for size in found["tile"].split(",")]
    for axis, size in zip(order, reversed(tile), strict=False):
        dimensions[axis] = -(-dimensions[axis] // size) * size
    return array_bytes(kind, ",".join(map(str, dimensions)))


def _entry(hlo: str) -> Iterator[str]:
    """The lines of the entry computation."""
    inside = False
    for line in hlo.splitlines():
        if inside and line.startswith("}"):
            return
        if inside:
            yield line
        inside = inside or line.startswith("ENTRY ")
