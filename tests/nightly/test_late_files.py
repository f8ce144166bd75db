"""Folders of a network: what another node or rank has written is seen late, or is stale."""

import subprocess
from contextlib import ExitStack

import pytest
from privileged import NEEDS_STRACE
from workspace import environment, make_spec, train_command

from paragone.records import record

pytestmark = NEEDS_STRACE


@pytest.mark.injects("what another rank has written is not there yet, or stale")
@pytest.mark.parametrize("error", ["ENOENT", "ESTALE"])
@pytest.mark.parametrize("point", ["start", "checkpoint"])
def test_news_that_come_late_are_waited_for(small, tmp_path, error, point):
    meeting, log = tmp_path / "meeting", tmp_path / "calls"
    meeting.mkdir(mode=0o700)
    spec = make_spec("fashion-cnn", "torch-ddp", 2, global_batch=200, epochs=2, steps_per_epoch=5)
    line = train_command(spec, small, tmp_path / "run", rendezvous=meeting, join_timeout=60)
    fault = ["--trace=openat", f"--inject=openat:error={error}:when=1..10"]
    options = ["--follow-forks", "--quiet=all", f"--output={log}"]
    late = ["strace", *fault, *options, f"--trace-path={meeting / f'{point}-0.json'}", *line]
    with ExitStack() as stack:
        ranks = []
        for rank, command in enumerate((line, late)):
            process = subprocess.Popen(command, env=environment(RANK=str(rank)))
            ranks.append(stack.enter_context(process))
            stack.callback(process.kill)
        assert [process.wait(180) for process in ranks] == [0, 0]
    assert log.read_text().count("(INJECTED)") == 10
    assert record.read(tmp_path / "run/record.json").status == "completed"
