"""The supervisor with small programs as workers, and where workers meet. Real runs: test_kill_others.py."""

import socket
import sys
import time

import psutil
import pytest
from workspace import run_python

from paragone.base.errors import UserError
from paragone.workers import supervisor
from paragone.workers.rendezvous import Rendezvous

# A worker that starts a helper, prints both process ids, ignores SIGTERM and sleeps.
STUBBORN = (
    "import os, signal, subprocess, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "helper = subprocess.Popen(['sleep', '600']); "
    "print('pids', os.getpid(), helper.pid, flush=True); time.sleep(600)"
)


# Its own SIGTERM comes in a function that Python calls after a fork, and whose exceptions it drops.
INTERRUPTED_IN_A_FORK = """
import os, signal, sys
from paragone.base.errors import Interrupted
from paragone.workers import supervisor
def interrupt():
    signal.raise_signal(signal.SIGTERM)
os.register_at_fork(after_in_parent=interrupt)
try:
    supervisor.run([sys.executable, "-c", "import time; time.sleep(20)"], 1)
except Interrupted:
    print("interrupted")
"""


def test_a_signal_that_comes_in_a_fork_is_not_lost():
    assert run_python(INTERRUPTED_IN_A_FORK).splitlines() == ["interrupted"]


def test_a_worker_that_fails_ends_all_with_their_helpers(capfd):
    fails = "import os, time\nif os.environ['RANK'] == '1':\n time.sleep(1); raise SystemExit(3)\n"
    begun = time.monotonic()
    children = supervisor.start([sys.executable, "-c", fails + STUBBORN], 3)
    failed = supervisor.first_to_fail(children)
    supervisor.end(children)
    assert (failed.rank, failed.status) == (1, 3)
    assert time.monotonic() - begun < 30
    lines = [line for line in capfd.readouterr().out.splitlines() if " pids " in line]
    pids = [int(word) for line in lines for word in line.split()[3:]]
    assert len(pids) == 4
    left = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    assert not psutil.wait_procs(left, 10)[1]


def test_what_a_worker_prints_in_each_step_is_shown_once(capfd):
    """Progress is not; a warning has its second line with it."""
    lines = "print('loss', step / 7); print('w.py:3: Warning', step); print('  warn()')"
    steps = f"for step in range(9): print(f'[mine torch x1 seed 0] epoch {{step}}/9'); {lines}"
    assert supervisor.run([sys.executable, "-c", steps], 1) is None
    *shown, last = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown] == ["[mine", "loss", "w.py:3:", "warn()"] + [
        "[mine"
    ] * 8
    assert last.startswith("left out: 24 lines")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PARAGONE_PORT", "http"),
        ("PARAGONE_PORT", "taken"),
        ("PARAGONE_ADDRESS", "no-such-host.invalid"),
    ],
)
def test_an_impossible_address_is_named(tmp_path, monkeypatch, name, value):
    with socket.create_server(("127.0.0.1", 0)) as server:
        value = str(server.getsockname()[1]) if value == "taken" else value
        monkeypatch.setenv("RANK", "0")
        monkeypatch.setenv(name, value)
        with pytest.raises(UserError, match=f"{name}.*{value}"):
            Rendezvous(tmp_path, 2, timeout=1).join()
