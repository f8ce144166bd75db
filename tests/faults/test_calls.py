"""Two calls of Snakemake on one folder at once, and one that is interrupted."""

import os
import signal
import subprocess
import time

import psutil
import pytest

pytestmark = pytest.mark.full
EXPERIMENT = "xla_fashion_cnn"
TABLE = f"results/tables/{EXPERIMENT}/runs.parquet"


@pytest.mark.injects("two calls on one results folder at once")
def test_of_two_calls_one_is_refused(fashion, checkout):
    made = checkout()
    made.config["data"]["folder"] = str(fashion.folder)
    made.only(EXPERIMENT, ["torch"], epochs=1, steps_per_epoch=2, repeats=2)
    first = made.start(TABLE, "--cores", "2")
    while not list(made.folder.glob("results/logs/**/*")):
        assert first.poll() is None
        time.sleep(0.1)
    second = made.snakemake(TABLE, "--cores", "2", status=1)
    assert f"process {first.pid} on {os.uname().nodename} writes these results" in second
    output, _ = first.communicate(timeout=300)
    assert first.returncode == 0, output


@pytest.mark.injects("Snakemake interrupted while it trains")
def test_an_interrupted_call_ends_the_run_that_it_has_started(fashion, checkout):
    """As `kill -INT` of Snakemake alone; a terminal interrupts its jobs, too."""
    made = checkout()
    made.config["data"]["folder"] = str(fashion.folder)
    made.only(EXPERIMENT, ["torch"], epochs=5000, steps_per_epoch=2, repeats=2)
    call = made.start(TABLE, "--cores", "2")
    try:
        while not list(made.folder.glob("results/runs/*/checkpoints/*/*")):
            assert call.poll() is None
            time.sleep(0.1)
        jobs = psutil.Process(call.pid).children(recursive=True)
        call.send_signal(signal.SIGINT)
        call.communicate(timeout=60)
    except (AssertionError, subprocess.TimeoutExpired):
        os.killpg(call.pid, signal.SIGINT)
        raise
    assert call.returncode == 1
    assert psutil.wait_procs(jobs, timeout=10)[1] == []
    (run,) = made.folder.glob("results/runs/*")
    assert [path.name for path in run.iterdir()] == ["checkpoints"]
