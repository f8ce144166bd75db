"""Folders of a network: what a job has written on one node is seen by Snakemake on another one later."""

import os
import re
import shutil
import sys
import time
from pathlib import Path

import pytest
from privileged import needs_root
from workspace import ROOT, Checkout, job_stats

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
def record(made) -> Path:
    """Where the record of the run was: the run and its table are to be made again."""
    (record,) = made.folder.glob("results/runs/*/record.json")
    shutil.rmtree(record.parent)
    (made / TABLE).unlink()
    return record


@pytest.mark.injects(
    "5 time and place",
    "what a job has written is seen by Snakemake seconds after it has ended",
    "each job writes to an overlay of its own (mount namespace), and its files are renamed into place later; "
    "`--latency-wait` longer than that",
)
def test_late_outputs_are_waited_for(made, record, tmp_path, record_property):
    variables = late(tmp_path / "node", r"scripts/\w+\.py$", 3)
    done = made.snakemake(TABLE, "--cores", "2", "--latency-wait", "30", **variables)
    assert done.returncode == 0, done.stdout
    waited = done.stdout.count("Waiting at most 30 seconds for missing files")
    assert waited == sum(job_stats(done.stdout).values()) >= 2  # each job: the run, its table
    assert record.exists()
    record_property("times", waited)


@pytest.mark.injects(
    "5 time and place",
    "what a run has written is seen after Snakemake has given it up",
    "likewise, later than `--latency-wait`; then the same command again",
)
def test_outputs_that_come_too_late_are_one_message_and_not_lost(made, record, tmp_path):
    variables = late(tmp_path / "node", r"scripts/launch\.py$", 8)
    done = made.snakemake(TABLE, "--cores", "2", "--latency-wait", "1", **variables)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    (message,) = re.findall(r"MissingOutputException[^\n]*\n([^\n]*)", done.stdout)
    assert "increase the wait time with --latency-wait" in message
    assert list(made.folder.glob("results/runs/*/*")) == []
    end = time.monotonic() + 60
    while len(list(record.parent.glob("*"))) < 2:
        assert time.monotonic() < end
        time.sleep(0.1)
    trained = record.read_bytes()
    done = made.snakemake(TABLE, "--cores", "2")
    assert done.returncode == 0, done.stdout
    assert "train" not in job_stats(done.stdout)
    assert record.read_bytes() == trained
