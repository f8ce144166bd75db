"""Snakemake's scheduler is at rest while a job runs: it would take time from timed runs."""

import subprocess
import sys

import pytest
from workspace import environment

pytestmark = pytest.mark.full

# Runs Snakemake and prints the timers that still run at its end: its scheduler polls if there are any.
PROGRAM = """
import sys, threading
from snakemake.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print("timers:", [one for one in threading.enumerate() if isinstance(one, threading.Timer)])
"""


def test_no_timer_wakes_the_scheduler(checkout):
    made = checkout()
    line = [sys.executable, "-c", PROGRAM, "results/data/fashion_mnist/source.json"]
    options = ["--config", "data={source: synthetic}"]
    done = subprocess.run(
        [*line, *options],
        cwd=made.folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 steps (100%) done" in done.stdout + done.stderr
    assert "timers: []" in done.stdout
