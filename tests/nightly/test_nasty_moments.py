"""Faults at the n-th system call of a run, injected by strace: a kill, a full disk, a disk that fails.

Whatever n: the run ends as if nothing had happened, or with one message, and the same command ends it well.
"""

import itertools
import os
import random
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from faults.killing import alike
from nightly.conftest import random_spec
from workspace import environment, succeed, train_command

from paragone.records import record

pytestmark = pytest.mark.skipif(
    shutil.which("strace") is None,
    reason="needs strace, to inject at a call: apt-get install strace",
)

# What makes, names, syncs or deletes files and folders; and what fills them.
NAMING = "mkdir,rename,fsync,unlink,unlinkat,rmdir"
FILLING = "write,pwrite64,writev,fallocate,ftruncate,mkdir,rename,fsync"
KILL = ["signal=SIGKILL"]
ERRORS = ["error=ENOSPC", "error=EDQUOT", "error=EIO"]
BACKENDS = ["torch", "tensorflow-mirrored", "jax", "torch-xla"]


def strace(line: list[str], *options: str) -> list[str]:
    """The command under strace, all its threads. Not --seccomp-bpf: strace 6.1 then injects no signal."""
    return ["strace", "--follow-forks", "--quiet=all", *options, *line]


def drawn(line: list[str], calls: str, log: Path, count: int) -> list[tuple[str, int]]:
    """A random sample of the calls of a run left alone: the name, and the number of the call in a thread."""
    succeed(strace(line, f"--trace={calls}", f"--output={log}"), timeout=600)
    made = re.findall(r"^(\d+) +(\w+)\(", log.read_text(errors="replace"), re.MULTILINE)
    busiest: dict[str, int] = {}
    for (_, call), times in Counter(made).items():
        busiest[call] = max(times, busiest.get(call, 0))
    draw = random.Random(0)
    kinds = [draw.choice(sorted(busiest)) for _ in range(count)]
    return sorted({(kind, draw.randint(1, busiest[kind])) for kind in kinds})


def survived(backend: str, arrays, folder: Path, calls: str, faults: list[str], count: int) -> int:
    """How many of `count` runs a fault at a random call has ended; each then ends as one left alone."""
    spec, ended = random_spec(backend, 1), 0
    whole = folder / "whole"
    succeed(train_command(spec, arrays, whole), timeout=600)
    counted = train_command(spec, arrays, folder / "counted")
    sample = drawn(counted, calls, folder / "calls", count)
    for (call, n), fault in zip(sample, itertools.cycle(faults), strict=False):
        place = folder / f"{call}-{n}"
        line = train_command(spec, arrays, place)
        options = [f"--trace={call}", f"--inject={call}:{fault}:when={n}", f"--output={os.devnull}"]
        done = subprocess.run(
            strace(line, *options),
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        ended += done.returncode != 0
        assert "Traceback" not in done.stderr, f"{call} {n} {fault}: {done.stderr}"
        if done.returncode > 0 and faults is ERRORS:
            errors = [text for text in done.stderr.splitlines() if text.startswith("error: ")]
            assert len(errors) == 1, f"{call} {n} {fault}: {done.stderr}"
        if not (place / "record.json").exists() or (place / "checkpoints").exists():
            succeed(line, timeout=600)
        alike(record.read(whole / "record.json"), record.read(place / "record.json"))
        assert {path.name for path in place.iterdir()} == {"predictions.npz", "record.json"}
    return ended


@pytest.mark.injects(
    "1 kills",
    "a trainer killed as it makes, renames, syncs or deletes a file or folder",
    "SIGKILL at the n-th such system call of a run (strace), over checkpoints, renames and record",
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_killed_at_the_nth_call_it_ends_alike(tiny, tmp_path, backend, record_property):
    kills = survived(backend, tiny, tmp_path, NAMING, KILL, 6)
    assert kills
    record_property("times", kills)


@pytest.mark.injects(
    "2 disk and memory",
    "a full disk, or one that fails, at any write of a trainer",
    "ENOSPC, EDQUOT or EIO at the n-th call that writes, makes, renames or syncs (strace), n over a run",
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_failing_nth_write_is_one_message_or_nothing(tiny, tmp_path, backend, record_property):
    survived(backend, tiny, tmp_path, FILLING, ERRORS, 12)
    record_property("times", 12)
