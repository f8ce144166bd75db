"""Processes that are killed, stopped or absent: trainers, one of several workers, launchers, Snakemake.

More backends and moments are in tests/nightly/test_random_kills.py.
"""

import os
import re
import signal
import subprocess

import psutil
import pytest
from faults.killing import (
    KILLED,
    checkpoints,
    long_spec,
    message,
    printed,
    resumes_to_the_same_bits,
    small_spec,
    started,
)
from privileged import fill, small_disk
from workspace import environment, error_in, train_command, wait_for

from paragone.records import record

pytestmark = pytest.mark.full


@KILLED
@pytest.mark.parametrize("backend", ["torch-ddp", "tensorflow-mirrored", "jax"])
def test_a_killed_run_resumes_to_the_same_bits(small, tmp_path, backend):
    resumes_to_the_same_bits(small_spec(backend, 2), small, tmp_path)


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


def workers_of(launcher: subprocess.Popen) -> dict[int, psutil.Process]:
    """The workers by rank; a worker that has not started its program yet is left out."""
    children = psutil.Process(launcher.pid).children()
    ranks = [child.environ().get("RANK") for child in children]
    return {int(rank): child for rank, child in zip(ranks, children, strict=True) if rank}


def gone(processes: list[psutil.Process], seconds: float = 10) -> bool:
    return not psutil.wait_procs(processes, seconds)[1]


@pytest.mark.injects("a rank killed or stopped")
@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGKILL, "was ended by SIGKILL"), (signal.SIGSTOP, "is stopped (SIGSTOP)")],
)
def test_a_killed_or_stopped_rank_ends_the_run_in_time_and_is_named(small, tmp_path, number, words):
    folder = tmp_path / "run"
    line = train_command(long_spec("torch-ddp", 2), small, folder, "launch", join_timeout=10)
    with started(line, folder) as run:
        (meeting,) = folder.glob("workers-*")
        assert meeting.stat().st_mode & 0o777 == 0o700
        workers = workers_of(run)
        workers[1].send_signal(number)
        assert run.wait(60) == 1
        assert gone(list(workers.values()), 0)
    assert {"[rank 0]", "[rank 1]"} <= {
        line[:8] for line in printed(folder).read_text().splitlines()
    }
    assert f"rank 1 of 2 on {os.uname().nodename} {words}" in message(folder)
    assert checkpoints(folder)


@pytest.mark.injects("the launcher killed, terminated or interrupted")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_launcher_that_ends_leaves_no_worker(small, tmp_path, number):
    folder = tmp_path / "run"
    with started(train_command(long_spec("torch-ddp", 2), small, folder, "launch"), folder) as run:
        workers = list(workers_of(run).values())
        assert len(workers) == 2
        run.send_signal(number)
        assert run.wait(30) == -number
        assert gone(workers)
    assert not (folder / "record.json").exists()
    assert number == signal.SIGKILL or not list(folder.glob("workers-*"))


@pytest.mark.injects("a rank killed or stopped")
def test_a_rank_that_never_joins_ends_the_run(small, tmp_path):
    """One rank is stopped before it joins; the other one waits for it as long as `--join-timeout` says."""
    line = train_command(long_spec("torch-ddp", 2), small, tmp_path, "launch", join_timeout=5)
    with subprocess.Popen(line, env=environment(), stderr=subprocess.PIPE, text=True) as run:
        late = wait_for(lambda: workers_of(run).get(1), run)
        late.suspend()
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 1
    words = r"rank 1 of 2 is stopped .*rank 1 of 2 has not joined .* within 5 s"
    assert re.search(words, error_in(errors))
    assert gone([late], 0)


@pytest.mark.injects("an only worker that crashes or is evicted")
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_an_only_worker_that_crashes_is_a_record_and_an_evicted_one_is_not(small, tmp_path, number):
    folder, evicted = tmp_path / "run", number == signal.SIGKILL
    with started(train_command(long_spec(), small, folder, "launch"), folder) as run:
        workers_of(run)[0].send_signal(number)
        assert run.wait(60) == int(evicted)
    if evicted:
        assert number.name in message(folder)
        assert checkpoints(folder)
        return
    made = record.read(folder / "record.json")
    assert made.status == "crashed"
    assert number.name in made.reason
    assert (made.epochs, made.clocks) == ([], None)
