"""Too few descriptors, processes or room in shared memory: a run ends well, or in one message."""

import os
import resource
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from privileged import needs_root
from workspace import environment, make_spec, train_command

from paragone.records import record

CELLS = [
    ("torch", 1),
    ("torch-ddp", 2),
    ("tensorflow-mirrored", 2),
    ("torch-xla", 2),
    ("jax", 2),
]


def ends(arrays, folder: Path, cell: tuple[str, int], before=(), limit=None) -> str:
    """Launch a run and return the status of its record, or "refused" after one message."""
    spec = make_spec("fashion-cnn", *cell, global_batch=200, epochs=2, steps_per_epoch=5)
    line = train_command(spec, arrays, folder, "launch", join_timeout=20)
    done = subprocess.run(
        [*before, *line],
        env=environment(),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    if done.returncode == 0:
        made = record.read(folder / "record.json")
        assert made.status == "completed" or made.reason
        assert sorted(path.name for path in folder.iterdir()) == ["predictions.npz", "record.json"]
        return made.status
    assert done.returncode == 1, done.stderr
    errors = [text for text in done.stderr.splitlines() if text.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    assert not (folder / "record.json").exists()
    assert not list(folder.glob("workers-*"))
    return "refused"


@pytest.mark.injects(
    "2 disk and memory",
    "too few file descriptors",
    "RLIMIT_NOFILE of 6 to 256 for launcher and workers",
)
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_few_descriptors(small, tmp_path, cell, record_property):
    limits = [6, 8, 12, 32, 256]
    found = []
    for most in limits:

        def limit(most: int = most) -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

        found.append(ends(small, tmp_path / str(most), cell, limit=limit))
    assert found[-1] == "completed"
    assert "refused" in found
    record_property("times", found.count("refused"))


@contextmanager
def process_group(most: int) -> Iterator[Callable[[], None]]:
    """A control group of so many processes and threads; what makes a process one of them."""
    folder = Path("/sys/fs/cgroup/pids") / f"paragone-{uuid.uuid4().hex[:8]}"
    try:
        folder.mkdir()
    except OSError:
        pytest.skip(
            f"needs to make {folder.parent}/..., to limit the number of processes: run the tests as root "
            "where control groups are of version 1"
        )
    (folder / "pids.max").write_text(str(most))
    try:
        yield lambda: (folder / "cgroup.procs").write_text(str(os.getpid())) and None
    finally:
        folder.rmdir()


@pytest.mark.injects(
    "2 disk and memory", "too few processes and threads", "a control group of 2 to 400 of them"
)
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_few_processes(small, tmp_path, cell, record_property):
    limits = [4, 8, 16, 400]
    found = []
    for most in limits:
        with process_group(most) as join:
            found.append(ends(small, tmp_path / str(most), cell, limit=join))
    assert found[-1] == "completed"
    assert set(found) != {"completed"}
    record_property("times", len(found) - found.count("completed"))


@pytest.mark.injects(
    "2 disk and memory", "no room in /dev/shm", "4 KiB of it, in a mount namespace"
)
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_no_shared_memory(small, tmp_path, cell):
    needs_root("mounts another /dev/shm")
    mount = 'mount -t tmpfs -o size=4k none /dev/shm && exec "$@"'
    before = ["unshare", "--mount", "bash", "-c", mount, "_"]
    assert ends(small, tmp_path / "run", cell, before) == "completed"
