"""The control groups of this process, in which kernel and scheduler keep its limits: version 2 and 1."""

from pathlib import Path

_MEMBERSHIP = Path("/proc/self/cgroup")
_MOUNT = Path("/sys/fs/cgroup")


def groups(controller: str) -> list[Path]:
    """Return the folders of this process's group and of those around it, innermost first.

    `controller`: "memory" or "cpu". A container may see the outermost one alone, which is then its own.
    """
    found = []
    for line in _lines(_MEMBERSHIP):
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2
            root = _MOUNT
        elif controller in controllers.split(","):
            root = _MOUNT / controllers
        else:
            continue
        group = root / path.lstrip("/")
        around = [one for one in group.parents if one.is_relative_to(root)]
        found += [one for one in (group, *around) if one.is_dir()]
    return found


def available_bytes() -> int | None:
    """Return what the tightest memory limit leaves, droppable page cache included; None without any."""
    left = []
    for group in groups("memory"):
        for limit, used, cached in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            most = "".join(_lines(group / limit))
            if most.isdecimal():  # not "max"
                free = int(most) - int("".join(_lines(group / used)))
                left.append(free + (_field(group / "memory.stat", cached) or 0))
    return max(0, min(left)) if left else None


def memory_counts() -> tuple[int, int]:
    """Return how many processes of this process's group the kernel has killed for memory, those of the whole
    host included; and how often a limit of the groups was reached.

    0 where the kernel does not count, or shows no group.
    """
    kills = (
        _field(group / name, "oom_kill")
        for group in groups("memory")
        for name in ("memory.events", "memory.oom_control")
    )
    reached = [
        _field(group / "memory.events", "oom")
        or int("".join(_lines(group / "memory.failcnt")) or 0)
        for group in groups("memory")
    ]
    return next((count for count in kills if count is not None), 0), sum(reached)


def killed_since(before: tuple[int, int]) -> bool:
    """Return whether the kernel has killed a process at a memory limit of its groups since `before`.

    `before`: an earlier result of `memory_counts`.
    """
    return all(now > then for now, then in zip(memory_counts(), before, strict=True))


def cpu_quota() -> float | None:
    """Return the cores that the tightest CPU quota is worth; None without any."""
    quotas = []
    for group in groups("cpu"):
        second = " ".join(_lines(group / "cpu.max")).split()
        first = [*_lines(group / "cpu.cfs_quota_us"), *_lines(group / "cpu.cfs_period_us")]
        for quota, period in (pair for pair in (second, first) if len(pair) == 2):
            if quota.isdecimal():  # neither "max" nor -1
                quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def throttled_seconds() -> float | None:
    """Return how long CPU quotas have held this process's groups back; None if the kernel does not count."""
    units = (("throttled_usec", 1e6), ("throttled_time", 1e9))
    found = [
        count / unit
        for group in groups("cpu")
        for name, unit in units
        if (count := _field(group / "cpu.stat", name)) is not None
    ]
    return sum(found) if found else None


def _field(path: Path, name: str) -> int | None:
    """The number behind a name in a file of such lines; None if either is missing."""
    pairs = dict(line.split(maxsplit=1) for line in _lines(path))
    return int(pairs[name]) if name in pairs else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
