"""Checkpoints appear whole or not at all, and one process at a time owns them."""

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Timer

import pytest

from paragone.base.errors import UserError
from paragone.training.checkpoints import Checkpoints
from paragone.workers.rendezvous import Rendezvous


def write(text: str):
    return lambda folder: (folder / "state").write_text(text) and None


@pytest.fixture
def checkpoints(tmp_path) -> Checkpoints:
    """With one checkpoint, of epoch 1."""
    made = Checkpoints(tmp_path, "context")
    made.save(1, write("first"), {"done": 1})
    return made


def reopened(checkpoints: Checkpoints, folder, context="context") -> Checkpoints:
    checkpoints._lock.release()  # what the end of the process does
    return Checkpoints(folder, context)


def second_of_two(tmp_path, monkeypatch) -> tuple[Rendezvous, Checkpoints]:
    """The first rank's view of a meeting, and the second rank's view of a folder with a checkpoint."""
    Checkpoints(tmp_path / "run", "context").save(1, write("first"), {"done": 1})
    (tmp_path / "meeting").mkdir()
    meetings = []
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        meetings.append(Rendezvous(tmp_path / "meeting", 2, timeout=10))
    return meetings[0], Checkpoints(tmp_path / "run", "context", meetings[1])


def test_the_newest_two_are_kept_and_the_last_is_taken_by_the_next_process(tmp_path):
    checkpoints = Checkpoints(tmp_path, "context")
    assert checkpoints.last(dict) is None
    for epoch in (8, 9, 10):
        checkpoints.save(epoch, write(str(epoch)), {"epochs": [epoch]})
    names = sorted(path.name for path in tmp_path.glob("*/*"))
    assert names == ["epoch-0009", "epoch-0010"]
    other = reopened(checkpoints, tmp_path, "changed")
    assert other.last(dict) is None, "another context does not resume"
    saved = reopened(other, tmp_path).last(dict)
    assert (saved.epoch, saved.progress) == (10, {"epochs": [10]})
    assert (saved.folder / "state").read_text() == "10"


@pytest.mark.parametrize("error", [RuntimeError("CUDA out of memory"), KeyboardInterrupt()])
def test_a_write_that_ends_early_leaves_the_checkpoint_before(checkpoints, error):
    """A full memory of the device is no full disk. Random kills: tests/nightly/."""

    def half(folder):
        (folder / "half").write_text("half")
        raise error

    with pytest.raises(type(error)):
        checkpoints.save(2, half, {})
    assert checkpoints.last(dict).epoch == 1
    checkpoints.save(2, write("second"), {})
    assert not list(checkpoints.last(dict).folder.glob("half"))


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "torn": lambda path: os.truncate(path, path.stat().st_size // 2),
    "flipped": flip,
    "emptied": lambda path: os.truncate(path, 0),
    "deleted": os.unlink,
}


@pytest.mark.injects("a file of a checkpoint torn, flipped, emptied or deleted")
@pytest.mark.parametrize("name", ["state", "progress.json", "digests.json", "deep/part"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(
    tmp_path, capsys, monkeypatch, checkpoints, damage, name
):
    monkeypatch.setattr("paragone.training.checkpoints.LATE", 0)

    def state(folder):
        (folder / "state").write_bytes(b"state" * 100)
        (folder / "deep").mkdir()
        (folder / "deep/part").write_bytes(b"part" * 100)

    checkpoints.save(2, state, {"done": 2})
    damage(tmp_path / "context/epoch-0002" / name)
    checkpoints = reopened(checkpoints, tmp_path)
    assert (checkpoints.last(dict).epoch, checkpoints.last(dict).progress) == (1, {"done": 1})
    assert "epoch-0002" in capsys.readouterr().out
    flip(tmp_path / "context/epoch-0001/state")
    assert checkpoints.last(dict) is None, "with none undamaged the run begins again"
    checkpoints.save(2, state, {"done": 2})
    assert checkpoints.last(dict).epoch == 2


@pytest.mark.parametrize("name", ["state", "progress.json", "digests.json"])
def test_a_file_that_is_seen_late_is_waited_for(tmp_path, checkpoints, name, capsys):
    path, hidden = tmp_path / "context/epoch-0001" / name, tmp_path / "hidden"
    path.rename(hidden)
    arrival = Timer(0.5, hidden.rename, [path])
    arrival.start()
    assert reopened(checkpoints, tmp_path).last(dict).progress == {"done": 1}
    arrival.join()
    assert capsys.readouterr().out == ""


def test_every_rank_takes_the_checkpoint_that_the_first_has_chosen(tmp_path, monkeypatch):
    """Whatever its own look into the folder finds: shared file systems show news late."""
    first, second = second_of_two(tmp_path, monkeypatch)
    (tmp_path / "run/context/epoch-0002").mkdir()  # not whole: seen by the first alone to be so
    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(second.last, dict)
        assert first.meet("checkpoint", {"epoch": 1})[1] == {"epoch": None}
        assert taken.result().epoch == 1


def test_a_rank_that_never_sees_the_checkpoint_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("paragone.training.checkpoints.LATE", 0)
    first, second = second_of_two(tmp_path, monkeypatch)
    (tmp_path / "run/context/epoch-0001/state").unlink()
    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(second.last, dict)
        first.meet("checkpoint", {"epoch": 1})
        with pytest.raises(UserError, match=r"epoch-0001: .*state.* as rank 1 sees it"):
            taken.result()
