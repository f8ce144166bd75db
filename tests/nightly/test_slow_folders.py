"""Folders of a network: files of other hosts are seen late, or were replaced while they were opened."""

import shutil
import subprocess
from pathlib import Path

import pytest
from workspace import environment, make_spec, train_command

from paragone.records import record

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace, to inject at a call"),
]


@pytest.mark.injects(
    "5 time and place",
    "what another rank has written is not there yet, or stale",
    "ENOENT or ESTALE for the first ten openings of its file (strace), as of NFS",
)
@pytest.mark.parametrize("error", ["ENOENT", "ESTALE"])
@pytest.mark.parametrize("point", ["start", "checkpoint"])
def test_news_that_come_late_are_waited_for(small, tmp_path, error, point):
    meeting = tmp_path / "meeting"
    meeting.mkdir(mode=0o700)
    spec = make_spec("fashion-cnn", "torch-ddp", 2, batch=200, epochs=2, steps_per_epoch=5)
    line = train_command(spec, small, tmp_path / "run", rendezvous=meeting, join_timeout=60)
    fault = ["--trace=openat", f"--inject=openat:error={error}:when=1..10"]
    path = f"--trace-path={meeting}/{point}-0.json"
    log = tmp_path / "calls"
    late = ["strace", "--follow-forks", "--quiet=all", *fault, path, f"--output={log}", *line]
    started = [
        subprocess.Popen(one, env=environment(RANK=str(rank)))
        for rank, one in enumerate([line, late])
    ]
    try:
        assert [one.wait(180) for one in started] == [0, 0]
    finally:
        for one in started:
            one.kill()
            one.wait()
    assert log.read_text().count("(INJECTED)") == 10
    assert record.read(Path(tmp_path / "run/record.json")).status == "completed"
