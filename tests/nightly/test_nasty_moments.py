"""Faults at the n-th system call of a run, injected by strace: a kill, a full disk, a disk that fails.

Whatever n: the run ends as if nothing had happened, or with one message, and the same command ends it well.
Files that another node or rank has written, and that are seen late, are waited for.
"""

import itertools
import os
import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from faults.killing import ended_alike, random_spec
from privileged import NEEDS_STRACE
from workspace import call, environment, make_spec, succeed, train_command

from paragone.records import record

pytestmark = NEEDS_STRACE

# What makes, names, syncs or deletes files and folders; and what fills them.
NAMING = "mkdir,rename,fsync,unlink,unlinkat,rmdir"
FILLING = "write,pwrite64,writev,fallocate,ftruncate,mkdir,rename,fsync"
ERRORS = ["error=ENOSPC", "error=EDQUOT", "error=EIO"]
KILLED = pytest.mark.injects("a trainer killed as it makes, renames, syncs or deletes a file")
FAILING = pytest.mark.injects("a full disk, or one that fails, at any write of a trainer")


def strace(line: list[str], *options: str) -> list[str]:
    """The command under strace, all its threads. Not --seccomp-bpf: strace 6.1 then injects no signal."""
    return ["strace", "--follow-forks", "--quiet=all", *options, *line]


def drawn(line: list[str], calls: str, log: Path, count: int) -> list[tuple[str, int]]:
    """A random sample of the calls of a run left alone: the name, and the number of the call in a thread."""
    succeed(strace(line, f"--trace={calls}", f"--output={log}"), timeout=600)
    made = re.findall(r"^(\d+) +(\w+)\(", log.read_text(errors="replace"), re.MULTILINE)
    busiest: dict[str, int] = {}
    for (_, name), times in Counter(made).items():
        busiest[name] = max(times, busiest.get(name, 0))
    draw = random.Random(0)
    kinds = [draw.choice(sorted(busiest)) for _ in range(count)]
    return sorted({(kind, draw.randint(1, busiest[kind])) for kind in kinds})


@pytest.mark.parametrize(
    ("calls", "faults", "count"),
    [
        pytest.param(NAMING, ["signal=SIGKILL"], 6, marks=KILLED, id="killed"),
        pytest.param(FILLING, ERRORS, 12, marks=FAILING, id="failing"),
    ],
)
@pytest.mark.parametrize("backend", ["torch", "tensorflow-mirrored", "jax", "torch-xla"])
def test_a_fault_at_any_call_is_survived(small, tmp_path, backend, calls, faults, count):
    spec, whole, ended = random_spec(backend, epochs=8), tmp_path / "whole", 0
    succeed(train_command(spec, small, whole), timeout=600)
    line = train_command(spec, small, tmp_path / "counted")
    sample = drawn(line, calls, tmp_path / "calls", count)
    for (name, n), fault in zip(sample, itertools.cycle(faults), strict=False):
        folder = tmp_path / f"{name}-{n}"
        line = train_command(spec, small, folder)
        options = [f"--trace={name}", f"--inject={name}:{fault}:when={n}", f"--output={os.devnull}"]
        done = call(strace(line, *options), timeout=600)
        ended += done.returncode != 0
        errors = [text for text in done.stderr.splitlines() if text.startswith("error: ")]
        assert "Traceback" not in done.stderr, f"{name} {n} {fault}: {done.stderr}"
        assert len(errors) == (done.returncode > 0), f"{name} {n} {fault}: {done.stderr}"
        if not (folder / "record.json").exists() or (folder / "checkpoints").exists():
            succeed(line, timeout=600)
        ended_alike(whole, folder)
    assert ended


@pytest.mark.injects("what another rank has written is not there yet, or stale")
def test_news_that_are_stale_are_waited_for(small, tmp_path):
    log = tmp_path / "calls"
    spec = make_spec("fashion-cnn", "torch-ddp", 2, global_batch=200, epochs=2, steps_per_epoch=5)
    line = train_command(spec, small, tmp_path / "run", rendezvous=tmp_path, join_timeout=60)
    options = ["--trace=openat", "--inject=openat:error=ESTALE:when=1..10", f"--output={log}"]
    late = strace(line, *options, f"--trace-path={tmp_path / 'start-0.json'}")
    first = subprocess.Popen(line, env=environment(RANK="0"))
    try:
        succeed(late, RANK="1")
        assert first.wait(60) == 0
    finally:
        first.kill()
        first.wait()
    assert log.read_text().count("(INJECTED)") == 10
    assert record.read(tmp_path / "run/record.json").status == "completed"
