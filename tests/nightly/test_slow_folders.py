"""Folders of a network: files of other hosts are seen late, or were replaced while they were opened."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from workspace import environment, make_spec, train_command

from paragone.records import record

pytestmark = pytest.mark.skipif(
    shutil.which("strace") is None,
    reason="needs strace, to inject at a call: apt-get install strace",
)


def injected(error: str, path: Path, log: Path) -> list[str]:
    """The start of a command whose first ten openings of a file fail so."""
    fault = ["--trace=openat", f"--inject=openat:error={error}:when=1..10"]
    options = ["--follow-forks", "--quiet=all", f"--trace-path={path}", f"--output={log}"]
    return ["strace", *fault, *options]


@contextmanager
def ranks(*lines: list[str]) -> Iterator[list[subprocess.Popen]]:
    """Workers of one run, which end with the block."""
    started = [
        subprocess.Popen(line, env=environment(RANK=str(rank)), stdout=subprocess.PIPE, text=True)
        for rank, line in enumerate(lines)
    ]
    try:
        yield started
    finally:
        for one in started:
            one.kill()
            one.communicate()


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
    spec = make_spec("fashion-cnn", "torch-ddp", 2, global_batch=200, epochs=2, steps_per_epoch=5)
    line = train_command(spec, small, tmp_path / "run", rendezvous=meeting, join_timeout=60)
    log = tmp_path / "calls"
    before = injected(error, meeting / f"{point}-0.json", log)
    with ranks(line, [*before, *line]) as started:
        assert [one.wait(180) for one in started] == [0, 0]
    assert log.read_text().count("(INJECTED)") == 10
    assert record.read(Path(tmp_path / "run/record.json")).status == "completed"
