"""What the text of a compiled program says: its collectives, and its bytes of main memory.

JAX hands out compiled programs as HLO text (`as_text`); no public library parses it.
"""

import math
import re
from collections import Counter

from ahead_of_time.records import Collective

KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
)
# %name = f32[128,10]{1,0:T(8,128)} kind(%operand, ...), more
_INSTRUCTION = re.compile(
    r"^\s*(?:ROOT )?(?P<name>%?[\w.\-]+) = (?P<shape>.*?) (?P<kind>[a-z][\w\-]*)\((?P<operands>[^)]*)\)"
)
# The type, sizes and layout of an array. Digits of the type are bits: f32, bf16, s8; pred has 8 bits.
_ARRAY = re.compile(
    r"\b(?P<type>[a-z]+(?P<bits>\d*)[a-z0-9]*)\[(?P<sizes>[\d,]*)\](?P<layout>\{[^}]*\})?"
)
# HLO writes groups as lists of devices, as groups x size, or as axes of a mesh.
_LISTS = re.compile(r"replica_groups=\{\{([\d,]*)\}")
_GRID = re.compile(r"replica_groups=\[\d+,(\d+)\]")
_MESH = re.compile(r"replica_groups=mesh\[([^\]]*)\] ?\{([^}]*)\}")
# ENTRY %main (a: f32[8]) -> f32[8] {
_BEGIN = re.compile(r"^(?P<entry>ENTRY )?(?P<name>%[\w.\-]+) .*\{$")
_CALLED = re.compile(r"to_apply=(%[\w.\-]+)")
_NAME = re.compile(r"%[\w.\-]+")
_ON_CHIP = re.compile(r"S\([1-9]\d*\)")
# The axes from the fastest to the slowest, and the tile of the fastest ones.
_TILED = re.compile(r"\{(?P<order>[\d,]*):T\((?P<tile>[\d,]+)\)")
_ENTRY = "ENTRY"
# These move nothing: they name what is there.
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


def collectives_of(hlo: str, devices: int) -> list[Collective]:
    """The collectives of a program over `devices`, equal ones once with their count."""
    counts: Counter[tuple[str, int, int]] = Counter()
    for line in hlo.splitlines():
        instruction = _INSTRUCTION.match(line)
        kind = instruction["kind"].removesuffix("-start") if instruction else ""
        if instruction is None or kind not in KINDS:
            continue
        sizes = [_bytes(array) for array in _ARRAY.finditer(instruction["shape"])]
        if instruction["kind"].endswith("-start") and kind != "all-reduce":
            sizes = sizes[len(sizes) // 2 :]  # its shape lists operands before results
        counts[kind, sum(sizes), _group(line, devices)] += 1
    return [
        Collective(kind=kind, bytes=size, group=group, count=count)
        for (kind, size, group), count in counts.items()
    ]


def traffic(hlo: str, cache: int = 0) -> int:
    """Bytes of main memory in one step, of the entry computation and what it calls; loops count once.

    Every operation left after fusion reads its operands and writes its results, calls of libraries among
    them, which the compilers' own counts leave out. A TPU's program says in its layouts which arrays are on
    the chip (`S(1)`): these cost nothing. A GPU's does not say what its cache keeps: `cache` bytes of each
    array are taken off. An operand counts whole, also for a fusion that reads a part of it.
    """
    computations: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in hlo.splitlines():
        if begin := _BEGIN.match(line):
            lines = computations.setdefault(_ENTRY if begin["entry"] else begin["name"], [])
        else:
            lines.append(line)
    return _traffic(computations, _ENTRY, cache)


def _traffic(computations: dict[str, list[str]], name: str, cache: int) -> int:
    sizes: dict[str, int] = {}
    total = 0
    for line in computations.get(name, []):
        instruction = _INSTRUCTION.match(line)
        if instruction is None:
            continue
        kind, operands = instruction["kind"], set(_NAME.findall(instruction["operands"]))
        shapes = list(_ARRAY.finditer(instruction["shape"]))
        if kind == "custom-call" and len(shapes) > 1 and shapes[-1]["type"] in ("u8", "s8"):
            shapes.pop()  # what a library works with, and need not touch
        arrays = [(_stored(shape), not _ON_CHIP.search(shape["layout"] or "")) for shape in shapes]
        written = sum(max(0, size - cache) for size, in_main in arrays if in_main)
        sizes[instruction["name"]] = written
        if kind in _FREE or kind.endswith("-done"):
            continue
        if kind == "call" and (called := _CALLED.search(line)):
            total += _traffic(computations, called[1], cache)
            continue
        read = sum(sizes.get(operand, 0) for operand in operands)
        if kind in (*_PARTS_OF_OPERANDS, "copy-start"):
            # Their shape lists results, operands and a context of the transfer.
            size, in_main = arrays[0] if kind == "copy-start" else arrays[-2]
            total += min(read, size) + (size if in_main else 0)
        else:
            total += read + written
    return total


def _bytes(array: re.Match[str], sizes: list[int] | None = None) -> int:
    if sizes is None:
        sizes = [int(size) for size in array["sizes"].split(",") if size]
    return math.ceil(math.prod(sizes) * int(array["bits"] or 8) / 8)


def _stored(array: re.Match[str]) -> int:
    """Bytes of an array in memory, where its last dimensions fill whole tiles.

    f32[128,10]{1,0:T(8,128)} has 128 x 128 elements in memory.
    """
    tiled = _TILED.match(array["layout"] or "")
    if tiled is None:
        return _bytes(array)
    sizes = [int(size) for size in array["sizes"].split(",") if size]
    order = [int(axis) for axis in tiled["order"].split(",") if axis]
    tile = [int(size) for size in tiled["tile"].split(",")]
    for axis, size in zip(order, reversed(tile), strict=False):
        sizes[axis] = -(-sizes[axis] // size) * size
    return _bytes(array, sizes)


def _group(line: str, devices: int) -> int:
    if lists := _LISTS.search(line):
        return len(lists[1].split(","))
    if grid := _GRID.search(line):
        return int(grid[1])
    if mesh := _MESH.search(line):
        sizes = dict(re.findall(r"'([^']+)'=(\d+)", mesh[1]))
        return math.prod(int(sizes[axis]) for axis in re.findall(r"'([^']+)'", mesh[2]))
    return devices  # no groups: all devices together
