"""A process: every second and fact is recorded once, limits are known, and its own work is no neighbor's."""

import functools
import os
import platform
import resource
import subprocess
import sys
import time

import psutil
import pynvml
import pytest
from make_records import make_activity, make_record, typed
from msgspec.structs import replace
from privileged import memory_group, needs_root
from workspace import ROOT, call, run_python, succeed, write_files

from paragone.machine import accelerators, limits, process_entry
from paragone.machine.activity import HostWatch, heat_files, heat_throttles
from paragone.machine.process_entry import git_state
from paragone.records.run_metrics import joules_per_example, other_cpu_share
from paragone.records.run_record import Activity, GitState


def test_the_fingerprint_is_the_machines_not_the_processes(monkeypatch):
    first = process_entry.describe_machine()
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert process_entry.describe_machine() == first
    assert process_entry.at_start().cores == 1


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("fpu avx avx2 fma", "AMD EPYC, AVX2"),
        ("fpu avx2 avx512f avx512_bf16 amx_bf16", "AMD EPYC, AMX"),
        ("fpu", "AMD EPYC"),
    ],
)
def test_processors_of_one_name_differ_by_their_instructions(flags, words):
    cpuinfo = f"processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: {flags}\n\n"
    assert process_entry.processor(2 * cpuinfo) == words
    assert process_entry.processor("processor\t: 0\nBogoMIPS\t: 50.00\n") == platform.machine()


def git(folder, *arguments):
    names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return succeed(["git", *names, *arguments], cwd=folder)


def test_git_state(tmp_path, monkeypatch):
    state = functools.partial(git_state, code="code.py")
    assert state(tmp_path) is None
    git(tmp_path, "init")
    assert state(tmp_path) is None  # nothing is committed
    (tmp_path / "code.py").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    head = git(tmp_path, "rev-parse", "HEAD").strip()
    assert state(tmp_path) == GitState(head, dirty=False)
    (tmp_path / "results.txt").write_text("not tracked")
    assert state(tmp_path).dirty is False
    # Unpacked within it: not tracked, then in a commit of its own, which another one's hook does not hide.
    program = tmp_path / "program"
    program.mkdir()
    (program / "code.py").write_text("1")
    assert state(program) is None
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert state(tmp_path).commit == head
    monkeypatch.delenv("GIT_DIR")
    (tmp_path / "code.py").write_text("2")
    assert state(tmp_path) == GitState(head, dirty=True)
    needs_root("gives a folder to another user")
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, 54_321, 54_321)
    assert state(tmp_path) == GitState(head, dirty=True)


ENDING = """
import atexit, sys, threading, time
from paragone.base.processes import end_process

def work():
    time.sleep(0.3)
    print("waited for")

atexit.register(print, "registered")
threading.Thread(target=work).start()
sys.stdout.write("written\\n")
end_process()
"""


def test_it_writes_waits_and_calls_what_is_registered():
    assert run_python(ENDING) == "written\nwaited for\nregistered\n"


# Limits: memory that a control group limits is known to the products and to the cap of a run

MIB = 2**20


def memory(folder: str, limit: int | str, used: int, cached: int = 0) -> dict[str, object]:
    """The files of a control group, of sizes in bytes."""
    stat = f"anon 5\ninactive_file {cached}\nactive_file 7"
    names = {"max": limit, "current": used, "stat": stat}
    return {f"{folder}memory.{name}": value for name, value in names.items()}


def claimed() -> int:
    """How many of this process's cores it would have."""
    before = os.sched_getaffinity(0)
    try:
        return limits.claim_cores(len(before))
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("group", "files", "ask", "answer"),
    [
        ("/job", memory("job/", 100, 60, 10) | memory("", "max", 0), limits.available_bytes, 50),
        ("/", memory("", 100, 60), limits.available_bytes, 40),  # a container of its own name space
        ("/job", {"job/memory.events": "oom 2\noom_kill 1"}, limits.memory_counts, (1, 2)),
        # Killed for a full memory of the whole host.
        ("/job", {"job/memory.events": "oom 0\noom_kill 1"}, limits.memory_counts, (1, 0)),
        ("/job", {"job/cpu.max": "250000 100000", "cpu.max": "150000 100000"}, claimed, 1),
        ("/job", {"job/cpu.stat": "throttled_usec 2500000"}, limits.throttled_seconds, 2.5),
    ],
    ids=range(6),
)
def test_the_tightest_limit_counts(tmp_path, monkeypatch, group, files, ask, answer):
    write_files(tmp_path, {name: f"{value}\n" for name, value in files.items()})
    (tmp_path / "membership").write_text(f"0::{group}")
    monkeypatch.setattr(limits, "_MOUNT", tmp_path)
    monkeypatch.setattr(limits, "_MEMBERSHIP", tmp_path / "membership")
    assert ask() == answer


def test_without_a_control_group_there_is_no_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "_MEMBERSHIP", tmp_path / "membership")
    free = psutil.virtual_memory().available
    assert limits.available_bytes() == pytest.approx(free, rel=0.2)
    assert (limits.memory_counts(), claimed()) == ((0, 0), len(os.sched_getaffinity(0)))


def test_a_full_memory_of_a_group_is_an_error_and_no_kill():
    """The kernel would end the process at the 1 GiB of a real group; its cap is below that."""
    program = (
        "import resource; from paragone.machine.limits import limit_memory; limit_memory()\n"
        "print(resource.getrlimit(resource.RLIMIT_DATA)[0], flush=True)\n"
        "held = [bytearray(2**26) for _ in range(64)]"
    )
    with memory_group(2**30) as group:
        done = call(
            [sys.executable, "-c", program],
            cwd=ROOT / "scripts",
            preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())),
        )
    assert done.returncode == 1, done.returncode
    assert "MemoryError" in done.stderr
    assert 0.5 * 2**30 < int(done.stdout) <= 0.9 * 2**30


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


# Isolation: what no sensor reports is null; NVML by functions in its place

SECONDS = 0.5


def test_own_work_and_that_of_ended_children_is_no_neighbour():
    watch = HostWatch([os.getpid()])
    mark, own = watch.mark(), time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    while time.process_time() - own < SECONDS:
        pass
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    of_children = sum(after[:2]) - sum(children[:2])
    (window,) = watch.since(mark)
    assert of_children > 0.05
    assert window.run == pytest.approx(time.process_time() - own + of_children, abs=0.1)


def test_a_watch_of_some_cores_counts_their_time_alone():
    """Others may work on cores that the variants of a contest do not use."""
    core = max(os.sched_getaffinity(0))
    watch = HostWatch([os.getpid()], [core])
    mark = watch.mark()
    time.sleep(SECONDS)
    (window,) = watch.since(mark)
    assert window.busy + window.idle + window.stolen == pytest.approx(window.seconds, rel=0.2)


def test_another_rank_of_the_run_is_no_neighbour_and_a_process_of_others_is():
    """One process of a host reads for all of them; the others find nothing. One may end."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        ranks = [[os.getpid(), other.pid], [other.pid, os.getpid()], [os.getpid()]]
        first, second, _ = watches = [*map(HostWatch, ranks)]
        marks = [watch.mark() for watch in watches]
        time.sleep(SECONDS)
        found = [watch.since(mark) for watch, mark in zip(watches, marks, strict=True)]
    finally:
        other.kill()
        other.wait()
    (of_both,), nothing, (of_one,) = found
    assert second.life() is None
    assert nothing == []
    assert of_both.run > 0
    assert of_one.run < of_both.run
    assert other_cpu_share([of_one]) > other_cpu_share([of_both])
    assert first.since(first.mark())[0].run >= 0


def test_throttling_by_heat_is_read_where_the_kernel_counts_it(tmp_path):
    assert heat_throttles(heat_files(tmp_path)) is None
    for core, count in enumerate((3, 4)):
        folder = f"cpu{core}/thermal_throttle"
        files = {f"{folder}/core_throttle_count": f"{count}\n"}
        write_files(tmp_path, files | {f"{folder}/package_throttle_count": "10\n"})
    assert heat_throttles(heat_files(tmp_path)) == 27


def test_energy_is_that_of_the_epochs_of_every_host_once():
    """Two ranks of a host and one of another: the second rank has none of its own."""
    made = make_record("torch-ddp", replicas=3, epochs=2, global_batch=6, steps_per_epoch=5)
    (made,) = typed([made])

    def drawn(last: float | None) -> float | None:
        by_rank = ((20.0, 30.0), (), (5.0, last))
        epochs = [
            [Activity(**make_activity(1.0, accelerator_joules=j)) for j in of] for of in by_rank
        ]
        pairs = zip(made.processes, epochs, strict=True)
        processes = [replace(process, epochs=own) for process, own in pairs]
        return joules_per_example(replace(made, processes=processes))

    assert (drawn(5.0), drawn(None)) == (60 / 60, None)


@pytest.fixture
def nvml(monkeypatch):
    """Two accelerators in place of the library's: handles are their numbers."""
    answers = {
        "DeviceGetName": lambda handle: f"Stand-in {handle}",
        "SystemGetDriverVersion": lambda: "570.00",
        "DeviceGetUUID": lambda handle: f"GPU-{handle}",
        "DeviceGetTotalEnergyConsumption": lambda handle: 2500 * (handle + 1),
    }
    for name, answer in answers.items():
        monkeypatch.setattr(f"pynvml.nvml{name}", answer)
    monkeypatch.setattr(accelerators, "_handles", lambda: [0, 1])


def test_accelerators_are_described_and_their_energy_is_added_up(nvml, monkeypatch):
    machine = process_entry.describe_machine()
    assert machine.accelerators == ["Stand-in 0", "Stand-in 1"]
    assert machine.driver == "570.00"
    assert accelerators.joules() == 7.5

    def mute(handle: int) -> int:
        raise pynvml.NVMLError_NotSupported

    monkeypatch.setattr("pynvml.nvmlDeviceGetTotalEnergyConsumption", mute)
    assert accelerators.joules() is None


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ["GPU-0", "GPU-1"]),
        ({"CUDA_VISIBLE_DEVICES": "1,0"}, ["GPU-1", "GPU-0"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-1", "SLURM_STEP_GPUS": "0"}, ["GPU-1"]),
    ],
)
def test_accelerators_are_told_apart_by_their_uuids(nvml, monkeypatch, variables, expected):
    for name in ("CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert accelerators.identities() == expected
