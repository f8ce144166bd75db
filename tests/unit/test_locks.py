"""Locks say who holds them and end with their process; folders of living processes are left alone."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from workspace import ROOT, environment

from paragone.base.locks import Held, Lock
from paragone.workers.meeting_folder import meeting_folder

# A process that does something with a path, says so and waits.
PROGRAM = """
import sys
from contextlib import ExitStack
from pathlib import Path
from paragone.base.locks import Lock
from paragone.workers.meeting_folder import meeting_folder
path = Path(sys.argv[1])
stack = ExitStack()
{body}
print("there", flush=True)
sys.stdin.read()
"""


def waiting(body: str, path: Path) -> subprocess.Popen:
    """A process that has done it."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(body=body), str(path)],
        env=environment(PYTHONPATH=str(ROOT / "scripts")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"there\n"
    return process


def test_a_lock_says_who_holds_it_until_its_process_is_killed(tmp_path):
    with waiting("held = Lock(path)", tmp_path / "lock") as other:
        with pytest.raises(Held) as refused:
            Lock(tmp_path / "lock")
        assert str(refused.value) == f"process {other.pid} on {socket.gethostname()}"
        other.kill()
    held = Lock(tmp_path / "lock")
    with pytest.raises(Held, match=f"process {os.getpid()} on"):
        Lock(tmp_path / "lock")
    held.release()
    Lock(tmp_path / "lock").release()


def test_a_lock_whose_file_was_deleted_by_its_holder_is_none(tmp_path, monkeypatch):
    """Two would hold it: one that of a file without a name."""
    path = tmp_path / "run" / "lock"
    taken = []

    def late(self, where):
        if not taken:
            taken.append(where)
            shutil.rmtree(where.parent)
        return at(self, where)

    at = Lock._is_at
    monkeypatch.setattr(Lock, "_is_at", late)
    held = Lock(path)
    assert taken
    with pytest.raises(Held):
        Lock(path)
    held.release()


def test_the_meeting_of_a_killed_process_is_removed_and_that_of_a_living_one_is_not(tmp_path):
    enter = "stack.enter_context(meeting_folder(path))"
    with waiting(enter, tmp_path) as living:
        (there,) = tmp_path.iterdir()
        with waiting(enter, tmp_path) as killed:
            (left,) = set(tmp_path.iterdir()) - {there}
            killed.kill()
        with meeting_folder(tmp_path) as own:
            assert own.stat().st_mode & 0o777 == 0o700
            assert set(tmp_path.iterdir()) == {there, own}
        assert left not in tmp_path.iterdir()
        living.communicate()
    assert list(tmp_path.iterdir()) == []
