"""The supervisor with small programs as workers: what it relays, and that no process survives it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from workspace import ROOT, environment

from paragone.base.errors import UserError
from paragone.workers import supervisor
from paragone.workers.rendezvous import Rendezvous

# A worker that starts a helper, prints both process ids, ignores SIGTERM and sleeps.
STUBBORN = (
    "import os, signal, subprocess, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "helper = subprocess.Popen(['sleep', '600']); "
    "print('pids', os.getpid(), helper.pid, flush=True); time.sleep(600)"
)
# The supervisor as a program, with workers that execute the first argument.
PROGRAM = (
    "import sys; from paragone.workers import supervisor; "
    "children = supervisor.start([sys.executable, '-c', sys.argv[1]], 2); "
    "supervisor.first_to_fail(children); supervisor.end(children)"
)


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def gone(pids: list[int], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(map(alive, pids)):
            return True
        time.sleep(0.05)
    return False


def test_lines_carry_their_rank_and_keep_their_stream(capfd):
    program = "import os, sys; print('out'); print('err', os.environ['RANK'], file=sys.stderr)"
    children = supervisor.start(python(program), 3)
    assert supervisor.first_to_fail(children) is None
    for child in children:
        child.settle()
    output, errors = capfd.readouterr()
    assert sorted(output.splitlines()) == [f"[rank {rank}] out" for rank in range(3)]
    assert sorted(errors.splitlines()) == [f"[rank {rank}] err {rank}" for rank in range(3)]


@pytest.mark.parametrize(
    ("fault", "status"),
    [("raise SystemExit(3)", 3), ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL)],
)
def test_one_that_fails_ends_all_with_their_helpers(capfd, fault, status):
    program = f"import os, signal, time\nif os.environ['RANK'] == '1':\n time.sleep(1); {fault}\n{STUBBORN}"
    begun = time.monotonic()
    children = supervisor.start(python(program), 3)
    failed = supervisor.first_to_fail(children)
    supervisor.end(children)
    assert (failed.rank, failed.status) == (1, status)
    assert time.monotonic() - begun < 30
    lines = [line for line in capfd.readouterr().out.splitlines() if " pids " in line]
    pids = [int(word) for line in lines for word in line.split()[3:]]
    assert len(pids) == 4
    assert gone(pids)


def test_a_killed_supervisor_leaves_no_worker():
    line = [
        sys.executable,
        "-c",
        PROGRAM,
        STUBBORN.replace("subprocess.Popen(['sleep', '600'])", "0"),
    ]
    line[-1] = line[-1].replace("helper.pid", "0")
    variables = environment(PYTHONPATH=str(ROOT / "scripts"))
    with subprocess.Popen(line, env=variables, stdout=subprocess.PIPE, text=True) as process:
        pids = [int(process.stdout.readline().split()[3]) for _ in range(2)]
        assert all(map(alive, pids))
        process.kill()
    assert gone(pids)


def test_workers_meet_and_share_what_they_bring(tmp_path, monkeypatch):
    found = together(tmp_path, monkeypatch, 3)
    assert [world.rank for world in found] == [0, 1, 2]
    assert {world.addresses for world in found} == {found[0].addresses}
    assert found[0].on_one_host
    assert len(set(found[0].addresses)) == 3
    assert [(world.local_rank, world.local_workers) for world in found] == [(0, 3), (1, 3), (2, 3)]


def test_a_rank_that_never_joins_is_named_in_time(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    begun = time.monotonic()
    with pytest.raises(UserError, match=r"rank 0, 2 of 3 has not joined .* within 1 s") as caught:
        Rendezvous(tmp_path, 3, timeout=1).join()
    assert "--join-timeout" in str(caught.value)
    assert time.monotonic() - begun < 30  # the default is minutes


def test_a_port_in_use_is_named(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("RANK", "0")
        monkeypatch.setenv("PARAGONE_PORT", str(port))
        with pytest.raises(UserError, match=f"PARAGONE_PORT: port {port} for rank 0"):
            Rendezvous(tmp_path, 2, timeout=1).join()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PARAGONE_PORT", "http"),
        ("PARAGONE_PORT", "-1"),
        ("PARAGONE_PORT", "70000"),
        ("PARAGONE_ADDRESS", "no-such-host.invalid"),
    ],
)
def test_an_impossible_address_is_named(tmp_path, monkeypatch, name, value):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=f"{name}.*{value}"):
        Rendezvous(tmp_path, 2, timeout=1).join()


def test_the_first_report_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    meeting = Rendezvous(tmp_path, 2, timeout=1)
    meeting.report("out_of_memory", "full")
    meeting.report("failed", "and then this")
    assert json.loads((tmp_path / "report-0.json").read_text())["status"] == "out_of_memory"


def test_several_workers_without_the_supervisor_are_refused():
    with pytest.raises(UserError, match=r"scripts/launch\.py"):
        Rendezvous(None, 2, timeout=1)


def together(folder: Path, monkeypatch, workers: int) -> list:
    """The worlds of this many workers that join at once."""
    meetings = []
    for rank in range(workers):
        monkeypatch.setenv("RANK", str(rank))
        meetings.append(Rendezvous(folder, workers, timeout=10))
    monkeypatch.delenv("RANK")
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(Rendezvous.join, meetings))


def test_an_own_affinity_is_not_divided_again():
    """Two workers on two cores take one each; four on two cores share; one takes all."""
    program = (
        "import os; from paragone.machine.limits import claim_cores; "
        "cores = sorted(os.sched_getaffinity(0)); "
        "print(claim_cores(2, *map(int, os.environ['PART'].split())), len(cores))"
    )
    for part, expected in (("0 1", 2), ("1 2", 1), ("3 4", 1)):
        variables = environment(PYTHONPATH=str(ROOT / "scripts"), PART=part)
        found, cores = subprocess.check_output(python(program), env=variables, text=True).split()
        assert int(found) == min(expected, int(cores))
    assert os.sched_getaffinity(0)
