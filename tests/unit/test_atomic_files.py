"""Files are complete or absent, whatever happens while they are written; whose a folder is."""

import json
import os
import re
import subprocess
import sys

import pytest
from privileged import needs_root
from workspace import ROOT, environment

from paragone.base.atomic_files import is_own, write_bytes, write_json, write_text, writing


def test_files_and_their_folders_are_made(tmp_path):
    write_text("Größe\n", tmp_path / "a" / "b.txt")
    write_bytes(b"\x00\xff", tmp_path / "b.bin")
    write_json({"c": [1, None]}, tmp_path / "c.json")
    assert (tmp_path / "a" / "b.txt").read_bytes() == "Größe\n".encode()
    assert (tmp_path / "b.bin").read_bytes() == b"\x00\xff"
    assert json.loads((tmp_path / "c.json").read_text()) == {"c": [1, None]}
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b.bin", "b.txt", "c.json"]


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


@pytest.mark.injects(
    "1 kills", "a process killed while it writes a result", "SIGKILL in the middle of it"
)
def test_a_killed_process_leaves_no_result_and_does_not_hinder_the_next(tmp_path):
    path = tmp_path / "result.txt"
    program = (
        "import os, sys; from pathlib import Path; from paragone.base.atomic_files import writing\n"
        "with writing(Path(sys.argv[1])) as file: file.write('half'); file.flush(); os.abort()"
    )
    line = [sys.executable, "-c", program, str(path)]
    subprocess.run(line, env=environment(PYTHONPATH=str(ROOT / "scripts")), check=False)
    assert not path.exists()
    write_text("whole", path)
    assert os.listdir(tmp_path) == ["result.txt"]
    assert path.read_text() == "whole"


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path):
    """By the system calls of a real process: what is written, synced, renamed, and its folder synced."""
    path, calls = tmp_path / "result.txt", tmp_path / "calls"
    program = (
        "import sys; from pathlib import Path; from paragone.base.atomic_files import write_text\n"
        "write_text('whole', Path(sys.argv[1]))"
    )
    strace = [
        "strace",
        "--output",
        str(calls),
        "--trace=openat,write,fsync,rename",
        "--decode-fds=path",
    ]
    line = [*strace, sys.executable, "-c", program, str(path)]
    subprocess.run(line, env=environment(PYTHONPATH=str(ROOT / "scripts")), check=True)
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


def test_a_folder_of_the_user_is_own_and_that_of_another_is_not(tmp_path):
    assert is_own(tmp_path)
    assert not list(tmp_path.iterdir())
    needs_root("gives a folder to another user")
    os.chown(tmp_path, 1002, -1)
    assert not is_own(tmp_path)


def test_a_folder_that_takes_no_file_is_not_own(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    assert not is_own(tmp_path)
