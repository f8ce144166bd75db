"""How much memory this process may still take: of the machine, and of its control group."""

from pathlib import Path

import psutil

_ROOT = Path("/sys/fs/cgroup")


def available_bytes() -> int:
    """The smallest of what the machine has left and what each enclosing cgroup (v2) has left."""
    left = [psutil.virtual_memory().available]
    for group in _groups():
        try:
            limit = (group / "memory.max").read_text().strip()
            used = int((group / "memory.current").read_text())
            cached = _field(group / "memory.stat", "inactive_file")
        except (OSError, ValueError):
            continue  # no limit on this level
        if limit != "max":
            left.append(int(limit) - used + cached)
    return max(0, min(left))


def _groups() -> list[Path]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        if line.startswith("0::/"):
            group = _ROOT / line.removeprefix("0::/")
            return [group, *(one for one in group.parents if one.is_relative_to(_ROOT))]
    return []


def _field(path: Path, name: str) -> int:
    words = path.read_text().split()
    return int(words[words.index(name) + 1])
