"""Checkpoints appear whole or not at all, and one process at a time owns them."""

import os
import subprocess
import sys

import pytest
from workspace import ROOT

from paragone.base.errors import UserError
from paragone.training.checkpoints import Checkpoints

HOLD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from paragone.training.checkpoints import Checkpoints
held = Checkpoints(Path(sys.argv[2]), "context")
print("held", flush=True)
sys.stdin.read()
"""


def write(text: str):
    return lambda folder: (folder / "state").write_text(text) and None


def reopened(checkpoints: Checkpoints, folder, context="context") -> Checkpoints:
    checkpoints._lock.close()  # what the end of the process does
    return Checkpoints(folder, context)


def test_nothing_to_resume_at_first(tmp_path):
    assert Checkpoints(tmp_path / "run", "context").last() is None


def test_last_checkpoint_is_found_by_the_next_process(tmp_path):
    checkpoints = Checkpoints(tmp_path, "context")
    checkpoints.save(9, write("nine"), {"epochs": [1]})
    checkpoints.save(10, write("ten"), {"epochs": [1, 2]})
    saved = reopened(checkpoints, tmp_path).last()
    assert (saved.epoch, saved.progress) == (10, {"epochs": [1, 2]})
    assert (saved.folder / "state").read_text() == "ten"
    assert [path.name for path in saved.folder.parent.iterdir()] == ["epoch-0010"]


def test_another_context_does_not_resume(tmp_path):
    checkpoints = Checkpoints(tmp_path, "context")
    checkpoints.save(1, write("one"), {})
    other = reopened(checkpoints, tmp_path, "changed")
    assert other.last() is None
    assert reopened(other, tmp_path).last().epoch == 1


def test_failed_write_leaves_the_checkpoint_before(tmp_path):
    checkpoints = Checkpoints(tmp_path, "context")
    checkpoints.save(1, write("one"), {})

    def full(folder):
        (folder / "state").write_text("half")
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        checkpoints.save(2, full, {})
    checkpoints = reopened(checkpoints, tmp_path)
    assert checkpoints.last().epoch == 1
    checkpoints.save(2, write("two"), {})
    assert (checkpoints.last().folder / "state").read_text() == "two"


def test_kill_in_the_middle_of_a_write_leaves_the_checkpoint_before(tmp_path):
    program = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from paragone.training.checkpoints import Checkpoints

def write(folder):
    (folder / "state").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

checkpoints = Checkpoints(Path(sys.argv[2]), "context")
checkpoints.save(1, lambda folder: None, {})
checkpoints.save(2, write, {})
"""
    line = [sys.executable, "-c", program, str(ROOT / "scripts"), str(tmp_path)]
    assert subprocess.run(line, check=False).returncode == -9
    assert list(tmp_path.glob("*/unfinished-0/state"))
    checkpoints = Checkpoints(tmp_path, "context")
    assert checkpoints.last().epoch == 1
    checkpoints.save(2, write_nothing, {})
    assert not list(checkpoints.last().folder.glob("state"))


def write_nothing(folder):
    """A state without files."""


def test_kill_between_the_new_and_the_removal_of_the_old_takes_the_new(tmp_path):
    checkpoints = Checkpoints(tmp_path, "context")
    checkpoints.save(1, write("one"), {"n": 1})
    old = checkpoints.last().folder
    checkpoints.save(2, write("two"), {"n": 2})
    old.mkdir()
    (old / "progress.json").write_text("{}")
    assert reopened(checkpoints, tmp_path).last().epoch == 2


def test_the_old_is_removed_only_when_the_new_is_there(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, "context")
    checkpoints.save(1, write("one"), {})

    def end(folder, **_):
        if folder.name.startswith("epoch-"):
            raise KeyboardInterrupt

    monkeypatch.setattr("paragone.training.checkpoints.shutil.rmtree", end)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(2, write("two"), {})
    assert reopened(checkpoints, tmp_path).last().epoch == 2


def test_second_process_is_refused_by_name_until_the_first_ends(tmp_path):
    line = [sys.executable, "-c", HOLD, str(ROOT / "scripts"), str(tmp_path)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout.readline() == b"held\n"
        for context in ("context", "another"):
            with pytest.raises(UserError) as caught:
                Checkpoints(tmp_path, context)
            assert str(tmp_path) in str(caught.value)
            assert f"process {first.pid} still trains this run" in str(caught.value)
        first.kill()
    held = Checkpoints(tmp_path, "context")
    assert (tmp_path / "lock").read_text() == str(os.getpid())
    held.remove()
    assert not tmp_path.exists()
