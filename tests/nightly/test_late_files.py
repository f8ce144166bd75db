"""Folders of a network: what another node or rank has written is seen late, or is stale."""

import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from privileged import needs_root
from workspace import ROOT, Checkout, environment, job_stats, make_spec, train_command

from paragone.records import record

TABLE = "results/tables/xla_fashion_cnn/runs.parquet"


@pytest.fixture(autouse=True)
def _root() -> None:
    needs_root("mounts folders")


def late(folder: Path, programs: str, seconds: int) -> dict[str, str]:
    """Variables with which these programs (a pattern) write as another node: seen so much later."""
    folder.mkdir()
    shutil.copy(ROOT / "tests/nightly/late_node.sh", folder / "python")
    return {
        "PATH": f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LATE_PYTHON": sys.executable,
        "LATE_PROGRAMS": programs,
        "LATE_SECONDS": str(seconds),
    }


@pytest.fixture(scope="module")
def made(fashion, tmp_path_factory) -> Checkout:
    """One run, done, and its table."""
    made = Checkout(tmp_path_factory.mktemp("late"))
    made.config["data"]["folder"] = str(fashion.folder)
    made.only("xla_fashion_cnn", ["torch"], epochs=1, steps_per_epoch=2)
    done = made.snakemake(TABLE, "--cores", "2")
    assert done.returncode == 0, done.stdout
    return made


@pytest.fixture
def recorded(made) -> Path:
    """Where the record of the run was: the run and its table are to be made again."""
    (found,) = made.folder.glob("results/runs/*/record.json")
    shutil.rmtree(found.parent)
    (made / TABLE).unlink()
    return found


@pytest.mark.injects("what a job has written is seen by Snakemake seconds after it has ended")
def test_late_outputs_are_waited_for(made, recorded, tmp_path, record_property):
    variables = late(tmp_path / "node", r"scripts/\w+\.py$", 3)
    done = made.snakemake(TABLE, "--cores", "2", "--latency-wait", "30", **variables)
    assert done.returncode == 0, done.stdout
    waited = done.stdout.count("Waiting at most 30 seconds for missing files")
    assert waited == sum(job_stats(done.stdout).values()) >= 2  # each job: the run, its table
    assert recorded.exists()
    record_property("times", waited)


@pytest.mark.injects("what a run has written is seen after Snakemake has given it up")
def test_outputs_that_come_too_late_are_one_message_and_not_lost(made, recorded, tmp_path):
    variables = late(tmp_path / "node", r"scripts/launch\.py$", 8)
    done = made.snakemake(TABLE, "--cores", "2", "--latency-wait", "1", **variables)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    (message,) = re.findall(r"MissingOutputException[^\n]*\n([^\n]*)", done.stdout)
    assert "increase the wait time with --latency-wait" in message
    assert list(made.folder.glob("results/runs/*/*")) == []
    end = time.monotonic() + 60
    while len(list(recorded.parent.glob("*"))) < 2:
        assert time.monotonic() < end
        time.sleep(0.1)
    trained = recorded.read_bytes()
    done = made.snakemake(TABLE, "--cores", "2")
    assert done.returncode == 0, done.stdout
    assert "train" not in job_stats(done.stdout)
    assert recorded.read_bytes() == trained


pytestmark = pytest.mark.skipif(
    shutil.which("strace") is None,
    reason="needs strace, to inject at a call: apt-get install strace",
)


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
