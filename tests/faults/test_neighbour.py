"""A run disturbed by other busy processes says so in its record and in the tidy table."""

import subprocess
import sys

import pandas as pd
import psutil
import pytest
from workspace import command, make_spec, succeed, train_command

from paragone.records import host_metrics, record, run_metrics

pytestmark = pytest.mark.full


def test_the_record_and_the_table_are_flagged(small, tmp_path):
    """What a figure then says: tests/unit/test_isolation.py."""
    spec = make_spec("fashion-conv", "torch", global_batch=200, epochs=2, steps_per_epoch=5)
    spinning = [sys.executable, "-c", "while True: pass"]
    neighbours = [subprocess.Popen(spinning) for _ in range(max(1, psutil.cpu_count() // 2))]
    try:
        succeed(train_command(spec, small, tmp_path, window_seconds=0.1))
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    made = record.read(tmp_path / "record.json")
    (process,) = made.processes
    assert min(host_metrics.shares(process).values()) > 0.15
    assert process.system_threads >= process.threads
    assert process.memory.peak_host_bytes > 50 * 2**20
    assert process.memory.peak_device_bytes is None  # of a CPU
    assert run_metrics.flop_per_second(made) > 0
    runs, epochs = tmp_path / "runs.parquet", tmp_path / "epochs.parquet"
    options = {"experiment": "disturbed", "records": tmp_path / "record.json"}
    python, program, *given = command("collect", **options, runs=runs, epochs=epochs)
    succeed([python, program, "runs", *given])
    assert pd.read_parquet(runs)["busy"].tolist() == [True]
