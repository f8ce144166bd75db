"""Memory that a control group limits is known as a limit: to the products and to the cap of a run."""

import os
import resource
import sys

import psutil
import pytest
from privileged import memory_group
from workspace import ROOT, call, run_python

from paragone.machine import cgroups, limits

MIB = 2**20
QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Make the files of control groups by hand: version 2, version 1, and both beside each other."""
    monkeypatch.setattr(cgroups, "_MOUNT", tmp_path / "cgroup")
    monkeypatch.setattr(cgroups, "_MEMBERSHIP", tmp_path / "membership")

    def make(membership: str, files: dict[str, object]) -> None:
        (tmp_path / "membership").write_text(membership)
        for name, value in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{value}\n")

    return make


def second(folder: str, limit: object, used: int, cached: int = 0) -> dict[str, object]:
    """The files of a group of version 2, in MiB."""
    limit = limit if limit == "max" else limit * MIB
    stat = f"anon 5\ninactive_file {cached * MIB}\nactive_file 7"
    names = {"max": limit, "current": used * MIB, "stat": stat}
    return {f"{folder}memory.{name}": value for name, value in names.items()}


def first(folder: str, limit: int, used: int, cached: int = 0) -> dict[str, object]:
    """The same of version 1."""
    stat = f"inactive_file 1\ntotal_inactive_file {cached * MIB}"
    names = {"limit_in_bytes": limit * MIB, "usage_in_bytes": used * MIB, "stat": stat}
    return {f"{folder}memory.{name}": value for name, value in names.items()}


@pytest.mark.parametrize(
    ("membership", "files", "left"),
    [
        ("0::/job/step", second("job/step/", 100, 60, 10) | second("job/", "max", 0), 50),
        ("0::/job/step", second("job/step/", "max", 60) | second("job/", 100, 80), 20),
        ("0::/", second("", 100, 60), 40),  # a container of its own name space
        ("4:cpu:/\n3:memory:/job", first("memory/job/", 100, 70, 5) | first("memory/", 200, 90), 35),
        ("3:memory:/docker/abc", first("memory/", 100, 60), 40),  # that sees its own group alone
        ("0::/job", second("job/", "max", 60), None),
        ("3:cpu:/job", first("memory/job/", 100, 60), None),
        ("", {}, None),
    ],
)  # fmt: skip
def test_the_tightest_limit_counts(tree, membership, files, left):
    tree(membership, files)
    assert cgroups.available_bytes() == (None if left is None else left * MIB)
    free = psutil.virtual_memory().available
    expected = free if left is None else left * MIB
    assert limits.available_bytes() == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize(
    ("membership", "file", "text", "counts"),
    [
        ("0::/job", "job/memory.events", "oom 2\noom_kill 1", (1, 2)),
        ("0::/job", "job/memory.events", "oom 0\noom_kill 1", (1, 0)),  # for the whole host's
        ("3:memory:/job", "memory/job/memory.oom_control", "under_oom 0\noom_kill 3", (3, 0)),
        ("3:memory:/job", "memory/job/memory.failcnt", "4", (0, 4)),
        ("", "cpu.stat", "throttled_usec 5", (0, 0)),
    ],
)
def test_what_the_kernel_has_killed_for_its_memory_is_counted(tree, membership, file, text, counts):
    tree(membership, {file: text})
    assert cgroups.memory_counts() == counts


@pytest.fixture
def group():
    """A real control group of 1 GiB; how limits are read is tested on made-up groups above, too."""
    with memory_group(2**30) as folder:
        yield folder


def test_a_full_memory_of_a_group_is_an_error_and_no_kill(group):
    """The kernel would end the process at 1 GiB; its cap is below that."""
    program = (
        "import resource; from paragone.machine.limits import limit_memory; limit_memory()\n"
        "print(resource.getrlimit(resource.RLIMIT_DATA)[0], flush=True)\n"
        "held = [bytearray(2**26) for _ in range(64)]"
    )
    done = call(
        [sys.executable, "-c", program],
        cwd=ROOT / "scripts",
        preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())),
    )
    assert done.returncode == 1, done.returncode
    assert "MemoryError" in done.stderr
    assert 0.5 * 2**30 < int(done.stdout) <= 0.9 * 2**30


@pytest.mark.parametrize(
    ("membership", "files", "cores"),
    [
        ("0::/job", {"job/cpu.max": "250000 100000", "cpu.max": "max 100000"}, 2.5),
        ("0::/job", {"job/cpu.max": "max 100000"}, None),
        ("4:cpu:/job", {f"cpu/job/{QUOTA}": 50_000, f"cpu/job/{PERIOD}": 100_000}, 0.5),
        ("4:cpu:/", {f"cpu/{QUOTA}": -1, f"cpu/{PERIOD}": 100_000}, None),
        ("", {}, None),
    ],
)
def test_threads_follow_the_quota(tree, membership, files, cores):
    tree(membership, files)
    assert cgroups.cpu_quota() == cores
    before = os.sched_getaffinity(0)
    try:
        expected = len(before) if cores is None else min(len(before), max(1, int(cores)))
        assert limits.claim_cores(len(before)) == expected
    finally:
        os.sched_setaffinity(0, before)


def test_a_waiting_thread_takes_little_of_the_cap():
    """TensorFlow's workers keep hundreds; with stacks of 8 MiB each a run ends as crashed."""
    program = (
        "from threading import Event, Thread; from psutil import Process\n"
        "from paragone.machine.limits import limit_memory; limit_memory()\n"
        "before, end = Process().memory_info().data, Event()\n"
        "threads = [Thread(target=end.wait) for _ in range(50)]\n"
        "[thread.start() for thread in threads]\n"
        "print((Process().memory_info().data - before) / 50); end.set()"
    )

    def limited() -> None:  # the default of most shells, and then of the stack of each thread
        resource.setrlimit(resource.RLIMIT_STACK, (8 * MIB, resource.RLIM_INFINITY))

    assert 1.5 * MIB < float(run_python(program, preexec_fn=limited)) < 3 * MIB
