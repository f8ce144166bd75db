"""Too few descriptors or room in shared memory: a run ends well, or in one message."""

import resource
from pathlib import Path

import pytest
from privileged import needs_root
from workspace import Arrays, call, make_spec, train_command

from paragone.records import record

CELLS = [("torch", 1), ("torch-ddp", 2), ("tensorflow-mirrored", 2), ("torch-xla", 2), ("jax", 2)]
NO_ROOM = 'mount -t tmpfs -o size=4k none /dev/shm && exec "$@"'


def ends(arrays: Arrays, folder: Path, cell: tuple[str, int], before=(), limit=None) -> str:
    """Launch a run and return the status of its record, or "refused" after one message."""
    spec = make_spec("fashion-cnn", *cell, global_batch=200, epochs=2, steps_per_epoch=5)
    line = train_command(spec, arrays, folder, "launch", join_timeout=20)
    done = call([*before, *line], preexec_fn=limit)
    if done.returncode == 0:
        made = record.read(folder / "record.json")
        assert made.status == "completed" or made.reason
        assert sorted(path.name for path in folder.iterdir()) == ["predictions.npz", "record.json"]
        return made.status
    errors = [text for text in done.stderr.splitlines() if text.startswith("error: ")]
    assert (done.returncode, len(errors)) == (1, 1), done.stderr
    assert not (folder / "record.json").exists()
    assert not list(folder.glob("workers-*"))
    return "refused"


@pytest.mark.injects("too few file descriptors")
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_few_descriptors(small, tmp_path, cell, record_property):
    statuses = []
    for most in (6, 8, 12, 32, 256):

        def limit(most: int = most) -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

        statuses.append(ends(small, tmp_path / str(most), cell, limit=limit))
    assert statuses[-1] == "completed"
    assert "refused" in statuses
    record_property("times", statuses.count("refused"))


@pytest.mark.injects("no room in /dev/shm")
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_no_shared_memory(small, tmp_path, cell):
    needs_root("mounts another /dev/shm")
    before = ["unshare", "--mount", "bash", "-c", NO_ROOM, "_"]
    assert ends(small, tmp_path / "run", cell, before) == "completed"
