"""Files are complete or absent; locks say who holds them and end with their process."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from workspace import ROOT, succeed, waiting

from paragone.base.atomic_files import write_json, write_text, writing
from paragone.base.locks import Held, Lock
from paragone.workers.rendezvous import meeting_folder


def test_a_failure_leaves_the_earlier_file_and_no_other(tmp_path):
    path = tmp_path / "result.json"
    write_text("earlier", path)

    def fail():
        with writing(path) as file:
            file.write("half")
            file.flush()
            assert path.read_text() == "earlier"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json({"loss": float("nan")}, path)
    assert path.read_text() == "earlier"
    assert os.listdir(tmp_path) == ["result.json"]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path):
    """By the system calls of a real process: what is written, synced, renamed, and its folder synced."""
    path, calls = tmp_path / "result.txt", tmp_path / "calls"
    program = (
        "import sys; from pathlib import Path; from paragone.base.atomic_files import write_text\n"
        "write_text('whole', Path(sys.argv[1]))"
    )
    strace = ["strace", f"--output={calls}", "--trace=write,fsync,rename", "--decode-fds=path"]
    line = [*strace, sys.executable, "-c", program, path]
    succeed(line, PYTHONPATH=str(ROOT / "scripts"))
    partial, folder = str(tmp_path / ".result.txt.partial"), str(tmp_path)
    kinds = {
        rf'write\(\d+<{re.escape(partial)}>, "whole"': "written",
        rf"fsync\(\d+<{re.escape(partial)}>\) += 0": "synced",
        rf'rename\("{re.escape(partial)}", "{re.escape(str(path))}"\) += 0': "renamed",
        rf"fsync\(\d+<{re.escape(folder)}>\) += 0": "folder synced",
    }
    seen = [
        kind
        for call in calls.read_text().splitlines()
        for pattern, kind in kinds.items()
        if re.match(pattern, call)
    ]
    assert seen == ["written", "synced", "renamed", "folder synced"]


# A process that does something with a path, says so and waits.
PROGRAM = """
import sys
from contextlib import ExitStack
from pathlib import Path
from paragone.base.locks import Lock
from paragone.workers.rendezvous import meeting_folder
path = Path(sys.argv[1])
stack = ExitStack()
{body}
print("there", flush=True)
sys.stdin.read()
"""


def there(body: str, path: Path) -> subprocess.Popen:
    """A process that has done it."""
    process = waiting(PROGRAM.format(body=body), path)
    assert process.stdout.readline() == "there\n"
    return process


def test_a_lock_says_who_holds_it_until_its_process_is_killed(tmp_path):
    with there("held = Lock(path)", tmp_path / "lock") as other:
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
    with there(enter, tmp_path) as living:
        (first,) = tmp_path.iterdir()
        with there(enter, tmp_path) as killed:
            (left,) = set(tmp_path.iterdir()) - {first}
            killed.kill()
        with meeting_folder(tmp_path) as own:
            assert own.stat().st_mode & 0o777 == 0o700
            assert set(tmp_path.iterdir()) == {first, own}
        assert left not in tmp_path.iterdir()
        living.communicate()
    assert list(tmp_path.iterdir()) == []
