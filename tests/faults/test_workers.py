"""Runs of several workers: one of them is killed, stopped or absent, or the launcher is.

Other backends and moments are in tests/nightly/test_stuck_ranks.py.
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from workspace import call, environment, make_spec, memory_limited, train_command, wait_for

from paragone.config.run_spec import Spec
from paragone.records import record

pytestmark = pytest.mark.full


def spec_of(backend: str = "torch-ddp", replicas: int = 2) -> Spec:
    return make_spec(
        "fashion-cnn", backend, replicas, global_batch=200, epochs=500, steps_per_epoch=10
    )


def workers_of(launcher: subprocess.Popen) -> dict[int, psutil.Process]:
    """The workers by rank; a worker that has not started its program yet is left out."""
    children = psutil.Process(launcher.pid).children()
    ranks = [child.environ().get("RANK") for child in children]
    return {int(rank): child for rank, child in zip(ranks, children, strict=True) if rank}


@contextmanager
def launched(spec: Spec, arrays, folder: Path, **options) -> Iterator[subprocess.Popen]:
    """A launched run, from its first checkpoint on."""
    line = train_command(spec, arrays, folder, "launch", **options)
    # Files instead of pipes: a full pipe that nobody reads would stop the run.
    with (
        open(folder / "out", "w+") as out,
        open(folder / "err", "w+") as err,
        subprocess.Popen(line, env=environment(), stdout=out, stderr=err) as run,
    ):
        try:
            wait_for(lambda: list(folder.glob("checkpoints/*/epoch-*")), run)
            yield run
        finally:
            run.kill()


def gone(processes: list[psutil.Process], seconds: float = 10) -> bool:
    return not psutil.wait_procs(processes, seconds)[1]


def message(folder: Path) -> str:
    """The only error of a run that left checkpoints, no record and no meeting folder."""
    errors = (folder / "err").read_text().splitlines()
    (found,) = [line for line in errors if line.startswith("error: ")]
    assert not (folder / "record.json").exists()
    assert list(folder.glob("checkpoints/*/epoch-*"))
    assert not list(folder.glob("workers-*"))
    return found


@pytest.mark.injects(
    "8 workers",
    "a rank killed or stopped",
    "SIGKILL, SIGSTOP at the start, in an epoch, at the end",
    lost="the epoch",
)
@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGKILL, "was ended by SIGKILL"), (signal.SIGSTOP, "is stopped (SIGSTOP)")],
)
def test_a_killed_or_stopped_rank_ends_the_run_in_time_and_is_named(small, tmp_path, number, words):
    with launched(spec_of(), small, tmp_path, join_timeout=10) as run:
        (meeting,) = tmp_path.glob("workers-*")
        assert meeting.stat().st_mode & 0o777 == 0o700
        workers = workers_of(run)
        workers[1].send_signal(number)
        assert run.wait(60) == 1
        assert gone(list(workers.values()), 0)
    assert f"rank 1 of 2 on {os.uname().nodename} {words}" in message(tmp_path)


@pytest.mark.injects(
    "8 workers",
    "the launcher killed, terminated or interrupted",
    "SIGKILL, SIGTERM, SIGINT",
    lost="the epoch",
)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_launcher_that_ends_leaves_no_worker(small, tmp_path, number):
    with launched(spec_of(), small, tmp_path) as run:
        workers = list(workers_of(run).values())
        assert len(workers) == 2
        run.send_signal(number)
        assert run.wait(30) == -number
        assert gone(workers)
    assert not (tmp_path / "record.json").exists()
    assert number == signal.SIGKILL or not list(tmp_path.glob("workers-*"))


def test_a_rank_that_never_joins_ends_the_run(small, tmp_path):
    """It is stopped before it could say where it is, and the other waits no longer than it is told to."""
    line = [*train_command(spec_of(), small, tmp_path, "launch"), "--join-timeout", "5"]
    with subprocess.Popen(line, env=environment(), stderr=subprocess.PIPE, text=True) as run:
        late = wait_for(lambda: workers_of(run).get(1), run)
        late.suspend()
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 1
    (found,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert re.search(r"rank 1 of 2 is stopped .*rank 1 of 2 has not joined .* within 5 s", found)
    assert gone([late], 0)


@pytest.mark.injects(
    "8 workers",
    "an only worker that crashes or is evicted",
    "SIGSEGV, SIGKILL",
    lost="the run, recorded as *crashed*, or the epoch",
)
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGSEGV, "crashed"), (signal.SIGKILL, None)]
)
def test_an_only_worker_that_crashes_is_a_record_and_an_evicted_one_is_not(
    small, tmp_path, number, status
):
    with launched(spec_of("torch", 1), small, tmp_path) as run:
        workers_of(run)[0].send_signal(number)
        assert run.wait(60) == int(status is None)
    if status is None:
        assert number.name in message(tmp_path)
        return
    made = record.read(tmp_path / "record.json")
    assert made.status == status
    assert number.name in made.reason
    assert (made.epochs, made.window, made.clocks) == ([], [], None)


@pytest.mark.injects(
    "2 disk and memory",
    "a batch too large for the memory",
    "a limit of 2 or 3 GiB (RLIMIT_DATA)",
    lost="the run, recorded as *out of memory*",
)
def test_a_full_memory_of_one_worker_is_a_record(small, tmp_path):
    spec = make_spec("wide-resnet", "torch-ddp", 2, global_batch=2000, epochs=1, steps_per_epoch=1)
    with memory_limited(2 * 2**30):
        done = call(train_command(spec, small, tmp_path, "launch"))
    assert done.returncode == 0, done.stdout + done.stderr
    made = record.read(tmp_path / "record.json")
    assert (made.status, made.spec.workers) == ("out_of_memory", 2)
