"""Two calls of Snakemake on one folder at once."""

import os
import time

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
