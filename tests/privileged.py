"""What only root, or a delegated group, may make: disks of a size, control groups with a limit."""

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NEEDS_STRACE = pytest.mark.skipif(
    shutil.which("strace") is None,
    reason="needs strace, to inject at a call: apt-get install strace",
)


def needs_root(what: str) -> None:
    """Skip a test that does what only root can."""
    if os.geteuid() != 0:
        pytest.skip(f"{what}, which only root can: run the tests as root")


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own in `folder`; size as `mount` has it: 64k, 20m."""
    needs_root("mounts a disk of its own to fill")
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "paragone-test", str(folder)]
    subprocess.run(mount, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Take all room that is left; the file that takes it."""
    ballast = disk / "ballast"
    block = bytes(1 << 16)
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 1):
            try:
                while file.write(block[:size]) == size:
                    pass
            except OSError:
                continue
    return ballast


@contextmanager
def memory_group(limit: int) -> Iterator[Path]:
    """A control group of so many bytes of memory: its folder, whose `cgroup.procs` takes processes."""
    for root, file in (
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ("/sys/fs/cgroup", "memory.max"),
    ):
        folder = Path(root) / f"paragone-{uuid.uuid4().hex[:8]}"
        try:
            folder.mkdir()
            (folder / file).write_text(str(limit))
        except OSError:
            if folder.exists():
                folder.rmdir()
            continue
        yield folder
        folder.rmdir()
        return
    pytest.skip(
        "needs write access to /sys/fs/cgroup with its memory controller (root, or a delegated group)"
    )
