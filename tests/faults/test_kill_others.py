"""Kills on other backends, in a speed window, and of Snakemake."""

import os
import signal
import subprocess

import pytest
from faults.killing import EPOCHS, KILLED, checkpoints, resumes_to_the_same_bits, small_spec
from privileged import fill, small_disk
from workspace import environment, succeed, train_command, wait_for

from paragone.records import record

pytestmark = pytest.mark.full


@KILLED
# The other backends resume in tests/nightly/test_random_kills.py.
@pytest.mark.parametrize("backend", ["torch-ddp", "tensorflow-mirrored", "jax"])
def test_a_killed_run_resumes_to_the_same_bits(small, tmp_path, backend):
    resumes_to_the_same_bits(small_spec(backend, 2), small, tmp_path)


@pytest.mark.injects("a trainer killed in its speed window")
def test_a_run_killed_in_its_speed_window_repeats_the_window(small, tmp_path):
    """It also repeats its last epoch, because checkpoints are those of training."""
    line = train_command(small_spec("torch"), small, tmp_path, window_seconds=600)
    with subprocess.Popen(line, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert any(f"epoch {EPOCHS}/{EPOCHS}" in text for text in process.stdout)
        process.kill()
    assert not (tmp_path / "record.json").exists()
    short = train_command(small_spec("torch"), small, tmp_path, window_seconds=0.1)
    assert f"resumed after epoch {EPOCHS - 1}" in succeed(short)
    made = record.read(tmp_path / "record.json")
    assert made.clocks.window < 60
    assert [process.first_epoch for process in made.processes] == [1, EPOCHS]
    assert made.window


@pytest.mark.injects("Snakemake killed while it trains")
def test_killed_snakemake_goes_on_when_it_is_called_again(fashion, checkout):
    """SIGKILL of Snakemake leaves its trainer behind; the next call says so, and a later one resumes."""
    made = checkout()
    made.config["data"]["folder"] = str(fashion.folder)
    made.only("xla_fashion_cnn", ["torch"], {"steps_per_epoch": 10}, epochs=5, steps_per_epoch=10)
    line = ("results/tables/runs.csv", "--cores", "2")
    runs = made / "results/runs"
    first = made.start(*line)
    wait_for(lambda: any(map(checkpoints, runs.glob("*"))), first)
    (run,) = runs.iterdir()
    trainer = int((run / "checkpoints/lock").read_text().split()[1])
    os.kill(trainer, signal.SIGSTOP)
    try:
        first.kill()
        first.wait()
        assert f"process {trainer} on " in made.snakemake(*line, status=1)
        assert checkpoints(run), "the checkpoints must survive"
    finally:
        os.kill(trainer, signal.SIGKILL)
    with small_disk(made / "results/logs/runs", "64k") as disk:
        fill(disk)  # a full disk of logs must not end the run
        target = f"results/runs/{run.name}/record.json"
        third = made.snakemake(target, "--cores", "2", PYTHONPROFILEIMPORTTIME="1")  # on stderr
    assert "resumed after epoch" in third
    assert len(record.read(run / "record.json").processes) == 2
    assert not (run / "checkpoints").exists()
