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
from nightly.test_random_kills import spec_of
from workspace import environment, small_copy, succeed, train_command

from paragone.records import record

pytestmark = pytest.mark.skipif(
    shutil.which("strace") is None,
    reason="needs strace, to inject at a call: apt-get install strace",
)

# What makes, names, syncs or deletes files and folders; and what fills them.
NAMING = "mkdir,rename,fsync,unlink,unlinkat,rmdir"
FILLING = "write,pwrite64,writev,fallocate,ftruncate,mkdir,rename,fsync"
ERRORS = ["ENOSPC", "EDQUOT", "EIO"]
BACKENDS = ["torch", "tensorflow-mirrored", "jax", "torch-xla"]


@pytest.fixture(scope="module")
def tiny(small, tmp_path_factory):
    """The first 400 training and 64 test images."""
    return small_copy(small, tmp_path_factory.mktemp("tiny"), train=400, test=64)


def strace(line: list[str], *options: str) -> list[str]:
    """The command under strace, all its threads. Not --seccomp-bpf: strace 6.1 then injects no signal."""
    return ["strace", "--follow-forks", "--quiet=all", *options, *line]


def calls_of(line: list[str], calls: str, log: Path) -> dict[str, int]:
    """How often the busiest thread of a run left alone makes each of these calls."""
    succeed(strace(line, f"--trace={calls}", f"--output={log}"), timeout=600)
    found = re.findall(r"^(\d+) +(\w+)\(", log.read_text(errors="replace"), re.MULTILINE)
    most: dict[str, int] = {}
    for (_, call), count in Counter(found).items():
        most[call] = max(count, most.get(call, 0))
    return most


def chosen(total: dict[str, int], count: int) -> list[tuple[str, int]]:
    """A random sample of these calls: the name, and the number of the call in a thread."""
    draw = random.Random(0)
    kinds = [draw.choice(sorted(total)) for _ in range(count)]
    return sorted({(kind, draw.randint(1, total[kind])) for kind in kinds})


class Runs:
    """A run of one backend, left alone, and the same with a fault."""

    def __init__(self, backend: str, arrays, folder: Path) -> None:
        self._spec, self._arrays, self._folder = spec_of(backend, 1), arrays, folder
        succeed(self.line("whole"), timeout=600)

    def line(self, name: str) -> list[str]:
        return train_command(self._spec, self._arrays, self._folder / name)

    def injected(self, name: str, call: str, fault: str) -> subprocess.CompletedProcess:
        options = [f"--trace={call}", f"--inject={call}:{fault}", f"--output={os.devnull}"]
        return subprocess.run(
            strace(self.line(name), *options),
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    def ends_well(self, name: str) -> None:
        """The same command, without a fault, ends as the run that was left alone, and leaves nothing."""
        folder = self._folder / name
        if not (folder / "record.json").exists() or (folder / "checkpoints").exists():
            succeed(self.line(name), timeout=600)
        alike(record.read(self._folder / "whole/record.json"), record.read(folder / "record.json"))
        assert {path.name for path in folder.iterdir()} == {"predictions.npz", "record.json"}


@pytest.mark.injects(
    "1 kills",
    "a trainer killed as it makes, renames, syncs or deletes a file or folder",
    "SIGKILL at the n-th such system call of a run (strace), over checkpoints, renames and record",
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_killed_at_the_nth_call_it_ends_alike(tiny, tmp_path, backend, record_property):
    runs = Runs(backend, tiny, tmp_path)
    total = calls_of(runs.line("counted"), NAMING, tmp_path / "calls")
    kills = 0
    for call, n in chosen(total, 6):
        done = runs.injected(f"{call}-{n}", call, f"signal=SIGKILL:when={n}")
        kills += done.returncode != 0
        runs.ends_well(f"{call}-{n}")
    assert kills
    record_property("times", kills)


@pytest.mark.injects(
    "2 disk and memory",
    "a full disk, or one that fails, at any write of a trainer",
    "ENOSPC, EDQUOT or EIO at the n-th call that writes, makes, renames or syncs (strace), n over a run",
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_failing_nth_write_is_one_message_or_nothing(tiny, tmp_path, backend, record_property):
    runs = Runs(backend, tiny, tmp_path)
    total = calls_of(runs.line("counted"), FILLING, tmp_path / "calls")
    faults = chosen(total, 12)
    for (call, n), error in zip(faults, itertools.cycle(ERRORS), strict=False):
        done = runs.injected(f"{call}-{n}", call, f"error={error}:when={n}")
        assert "Traceback" not in done.stderr, f"{call} {n} {error}: {done.stderr}"
        if done.returncode:
            errors = [text for text in done.stderr.splitlines() if text.startswith("error: ")]
            assert len(errors) == 1, f"{call} {n} {error}: {done.stderr}"
        runs.ends_well(f"{call}-{n}")
    record_property("times", len(faults))
