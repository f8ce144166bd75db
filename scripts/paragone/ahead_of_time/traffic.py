"""What a compiled program reads from and writes to the main memory of a device, read from its HLO.

Every operation reads its operands and writes its results, calls of libraries among them, which the compilers'
own counts leave out. A TPU's program says in the layouts which arrays are on the chip (`S(1)`): they cost no
bandwidth of its memory. A GPU's does not say what its cache keeps: of an array it is no more than the size of
the cache.
"""

import re

from paragone.ahead_of_time.collectives import ARRAY, array_bytes

_INSTRUCTION = re.compile(
    r"^\s*(?:ROOT )?(?P<name>%[\w.\-]+) = (?P<shape>.*?) (?P<kind>[a-z][\w\-]*)\((?P<operands>[^)]*)\)"
)
# ENTRY %main (a: f32[8]) -> f32[8] {
_BEGIN = re.compile(r"^(?P<entry>ENTRY )?(?P<name>%[\w.\-]+) .*\{$")
_ENTRY = "ENTRY"
_CALLED = re.compile(r"to_apply=(%[\w.\-]+)")
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
_BYTES = ("u8", "s8")
_PARTS_OF_OPERANDS = ("slice-start", "dynamic-slice-start", "async-start")


def traffic(hlo: str, cache: int = 0) -> int:
    """Bytes of one step, of the operations of the entry computation and those it calls; loops count once.

    `cache`: bytes that a cache may keep of each array. An operand counts whole, also for a fusion that
    reads a part of it.
    """
    computations = _computations(hlo)
    return _traffic(computations, _ENTRY, cache)


def _traffic(computations: dict[str, list[str]], name: str, cache: int) -> int:
    sizes: dict[str, int] = {}
    total = 0
    for line in computations.get(name, []):
        found = _INSTRUCTION.match(line)
        if found is None:
            continue
        kind, operands = found["kind"], set(_NAME.findall(found["operands"]))
        shapes = list(ARRAY.finditer(found["shape"]))
        if kind == "custom-call" and len(shapes) > 1 and shapes[-1]["kind"] in _BYTES:
            shapes.pop()  # what the library works with, and need not touch
        arrays = [
            (_stored(**one.groupdict()), not _ON_CHIP.search(one["layout"] or "")) for one in shapes
        ]
        sizes[found["name"]] = sum(max(0, size - cache) for size, in_main in arrays if in_main)
        if kind in _FREE or kind.endswith("-done"):
            continue
        if kind == "call" and (called := _CALLED.search(line)):
            total += _traffic(computations, called[1], cache)
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


def _computations(hlo: str) -> dict[str, list[str]]:
    """The lines of each computation by its name; of the entry computation by `_ENTRY`."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in hlo.splitlines():
        if begin := _BEGIN.match(line):
            lines = found.setdefault(_ENTRY if begin["entry"] else begin["name"], [])
        else:
            lines.append(line)
    return found
