"""Runs of several workers: what happens when one of them dies, and crashes.

What they record where nothing happens is asserted on the smoke run, tests/pipeline/test_smoke_records.py.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from workspace import (
    call,
    environment,
    make_spec,
    memory_limited,
    refused,
    train_command,
    wait_for,
)

from paragone.config.run_spec import Spec
from paragone.records import record

LONG = [pytest.mark.nightly, pytest.mark.long]
FULL = [pytest.mark.full, pytest.mark.long]  # not in `make faults` without FULL=1, either
MULTIPROCESS = ["torch-ddp", "torch-fsdp", "tensorflow-multiworker", "jax-multiprocess"]


def spec_of(backend: str, epochs: int = 500) -> Spec:
    return make_spec("fashion-cnn", backend, 2, global_batch=200, epochs=epochs, steps_per_epoch=10)


def workers_of(launcher: subprocess.Popen) -> dict[int, psutil.Process]:
    """The workers by rank; one that is about to start its program has none yet."""
    children = psutil.Process(launcher.pid).children()
    ranks = [child.environ().get("RANK") for child in children]
    return {int(rank): child for rank, child in zip(ranks, children, strict=True) if rank}


@contextmanager
def at_work(spec: Spec, arrays, folder: Path, **options) -> Iterator[subprocess.Popen]:
    """A launched run, from its first checkpoint on."""
    line = train_command(spec, arrays, folder, "launch", **options)
    # Not pipes, which would be read at the end only: a full one would stop the run.
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


@pytest.mark.injects(
    "8 workers", "a rank killed", "SIGKILL at the start, in an epoch, at the end", lost="the epoch"
)
@pytest.mark.parametrize(
    ("backend", "rank"),
    [
        ("torch-ddp", 1),
        pytest.param("tensorflow-multiworker", 0, marks=pytest.mark.full),
        pytest.param("tensorflow-multiworker", 1, marks=LONG),
    ],
)
def test_a_killed_rank_ends_the_run_in_time_and_is_named(small, tmp_path, backend, rank):
    with at_work(spec_of(backend), small, tmp_path) as run:
        workers = workers_of(run)
        assert sorted(workers) == [0, 1]
        workers[rank].kill()
        begun = time.monotonic()
        assert run.wait(60) == 1
        assert time.monotonic() - begun < 60
        assert gone(list(workers.values()), 0)
    errors = (tmp_path / "err").read_text()
    (message,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert f"rank {rank} of 2 on {os.uname().nodename} was ended by SIGKILL" in message
    assert "its last lines" in message
    assert not (tmp_path / "record.json").exists()
    assert list(tmp_path.glob("checkpoints/*/epoch-*")), "the checkpoints must survive"
    assert not list(tmp_path.glob("workers-*"))


LAUNCHER = pytest.mark.injects(
    "8 workers",
    "the launcher killed, terminated or interrupted",
    "SIGKILL, SIGTERM, SIGINT",
    lost="the epoch",
)


@LAUNCHER
@pytest.mark.parametrize(
    "backend", ["torch-ddp", pytest.param("tensorflow-multiworker", marks=FULL)]
)
def test_a_killed_launcher_leaves_no_worker(small, tmp_path, backend):
    with at_work(spec_of(backend), small, tmp_path) as run:
        workers = list(workers_of(run).values())
        assert len(workers) == 2
        run.kill()
        assert gone(workers)


@LAUNCHER
@pytest.mark.parametrize(
    ("backend", "number"),
    [
        pytest.param("tensorflow-multiworker", signal.SIGTERM, marks=FULL),
        ("torch-ddp", signal.SIGINT),
    ],
)
def test_an_evicted_launcher_ends_its_workers(small, tmp_path, backend, number):
    with at_work(spec_of(backend), small, tmp_path) as run:
        workers = list(workers_of(run).values())
        run.send_signal(number)
        assert run.wait(30) == -number
        assert gone(workers, 0)
    assert not (tmp_path / "record.json").exists()
    assert not list(tmp_path.glob("workers-*"))


STOPPED = pytest.mark.injects(
    "8 workers", "a rank stopped", "SIGSTOP at the start, in an epoch, at the end", lost="the epoch"
)


@STOPPED
def test_a_rank_that_never_joins_ends_the_run(small, tmp_path):
    """Stopped before it could say where it is: the other waits no longer than it is told to."""
    line = [*train_command(spec_of("torch-ddp"), small, tmp_path, "launch"), "--join-timeout", "5"]
    with subprocess.Popen(line, env=environment(), stderr=subprocess.PIPE, text=True) as run:
        late = wait_for(lambda: workers_of(run).get(1), run)
        late.suspend()
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 1
    (message,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert re.search(
        r"rank 1 of 2 is stopped .*\(rank 0: rank 1 of 2 has not joined .* within 5 s", message
    )
    assert gone([late], 0)


@STOPPED
@pytest.mark.parametrize(
    "backend",
    [
        "torch-ddp",
        *(pytest.param(name, marks=LONG) for name in MULTIPROCESS[1:]),
    ],
)
def test_a_rank_that_is_stopped_in_an_epoch_ends_the_run_within_its_bound_and_is_named(
    small, tmp_path, backend
):
    with at_work(spec_of(backend), small, tmp_path, join_timeout=10) as run:
        stuck = workers_of(run)[1]
        stuck.suspend()
        assert run.wait(60) == 1
        assert gone([stuck], 0)
    errors = (tmp_path / "err").read_text()
    (message,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert f"rank 1 of 2 on {os.uname().nodename} is stopped (SIGSTOP)" in message
    assert list(tmp_path.glob("checkpoints/*/epoch-*"))
    assert not list(tmp_path.glob("workers-*"))


def test_workers_meet_where_nobody_else_can_write(small, tmp_path):
    with at_work(spec_of("torch-ddp"), small, tmp_path):
        (folder,) = tmp_path.glob("workers-*")
        assert folder.stat().st_mode & 0o777 == 0o700


def test_an_absent_device_is_a_record(small, tmp_path):
    """Found by a worker, written by the launcher."""
    spec = spec_of("torch-ddp")
    spec = replace(spec, backend={**spec.backend, "device": "gpu"})
    done = call(train_command(spec, small, tmp_path, "launch"))
    assert done.returncode == 0, done.stderr
    made = record.read(tmp_path / "record.json")
    assert made.status == "unavailable"
    assert "2 replica(s) on gpu asked for" in made.reason
    assert [one.rank for one in made.processes] == [0, 1]
    assert made.clocks is None
    assert not list(tmp_path.glob("workers-*"))


@pytest.mark.injects(
    "8 workers",
    "an only worker that crashes or is evicted",
    "SIGSEGV, SIGABRT, SIGTERM, SIGKILL",
    lost="the run, recorded as *crashed*, or the epoch",
)
@pytest.mark.parametrize(
    ("number", "result"),
    [
        (signal.SIGSEGV, "crashed"),
        pytest.param(signal.SIGABRT, "crashed", marks=FULL),
        pytest.param(signal.SIGTERM, None, marks=FULL),
        (signal.SIGKILL, None),
    ],
)
def test_an_only_worker_that_crashes_is_a_record_and_an_evicted_one_is_not(
    small, tmp_path, number, result
):
    spec = make_spec("fashion-cnn", "torch", global_batch=200, epochs=500, steps_per_epoch=10)
    with at_work(spec, small, tmp_path) as run:
        workers_of(run)[0].send_signal(number)
        status = run.wait(60)
    if result is None:
        assert status == 1
        assert number.name in (tmp_path / "err").read_text()
        assert not (tmp_path / "record.json").exists()
        assert list(tmp_path.glob("checkpoints/*/epoch-*"))
        return
    assert status == 0
    made = record.read(tmp_path / "record.json")
    assert made.status == result
    assert number.name in made.reason
    assert (made.epochs, made.window, made.clocks) == ([], [], None)
    assert made.reason in (tmp_path / "out").read_text()


@pytest.mark.injects(
    "2 disk and memory",
    "a batch too large for the memory",
    "a limit of 2 or 3 GiB (RLIMIT_DATA)",
    lost="the run, recorded as *out of memory*",
)
@pytest.mark.full
def test_a_full_memory_of_one_worker_is_a_record(small, tmp_path):
    spec = make_spec("wide-resnet", "torch-ddp", 2, global_batch=2000, epochs=1, steps_per_epoch=1)
    with memory_limited(2 * 2**30):
        done = call(train_command(spec, small, tmp_path, "launch"))
    assert done.returncode == 0, done.stdout + done.stderr
    made = record.read(tmp_path / "record.json")
    assert made.status == "out_of_memory"
    assert made.spec.workers == 2


def test_several_workers_need_the_launcher(small, tmp_path):
    done = call(train_command(spec_of("torch-ddp"), small, tmp_path))
    refused(done, "2 workers", "scripts/launch.py")


def test_several_hosts_need_slurm(small, tmp_path):
    line = [*train_command(spec_of("torch-ddp"), small, tmp_path, "launch"), "--nodes", "2"]
    refused(call(line), "--nodes", "no Slurm allocation", "profiles/slurm", "train:nodes=1")
    line = [*train_command(spec_of("torch-ddp"), small, tmp_path, "launch"), "--nodes", "3"]
    refused(call(line), "--nodes", "2 worker(s)", "3 hosts")


@pytest.mark.parametrize("strategy", ["spmd", "mirrored"])
def test_a_strategy_of_another_engine_is_refused(small, tmp_path, strategy):
    spec = make_spec("fashion-cnn", "torch", global_batch=200, epochs=1, steps_per_epoch=1)
    spec = replace(spec, backend={**spec.backend, "strategy": strategy})
    refused(call(train_command(spec, small, tmp_path)), "backends.torch.strategy", strategy)
