"""Each rank killed, stopped, slowed or cut off, at any time of a run: nothing waits forever."""

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from privileged import needs_root
from workspace import environment, make_spec, train_command, wait_for

from paragone.records import record

BACKENDS = ["torch-ddp", "torch-fsdp", "tensorflow-multiworker", "jax-multiprocess"]
MOMENTS = ["at the start", "in an epoch", "at the end"]
# Rank 0 is the one that the others meet at.
CASES = [
    (backend, rank, moment)
    for backend in BACKENDS
    for rank, moment in ((1, "at the start"), (0, "in an epoch"), (1, "at the end"))
]
BOUND = 10  # seconds that the workers of these runs wait for each other
LAST = 120  # seconds in which a run has ended after that: some frameworks notice by their own clock
EPOCHS = 5


class Run:
    """A launched run of two workers; `before`: the start of its command line."""

    def __init__(self, backend: str, arrays, folder: Path, epochs: int = EPOCHS, before=()) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        spec = make_spec(
            "fashion-cnn", backend, 2, global_batch=200, epochs=epochs, steps_per_epoch=10
        )
        options = {"join_timeout": BOUND, "window_seconds": 2}
        line = [*before, *train_command(spec, arrays, folder, "launch", **options)]
        with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
            self.process = subprocess.Popen(line, env=environment(), stdout=out, stderr=err)

    def rank(self, rank: int) -> psutil.Process | None:
        for child in psutil.Process(self.process.pid).children(recursive=True):
            try:
                if child.environ().get("RANK") == str(rank):
                    return child
            except psutil.Error:
                continue
        return None

    def wait_until(self, moment: str) -> None:
        """Both workers run; the first checkpoint is written; the last epoch is reported."""
        reached: dict[str, Callable] = {
            "at the start": lambda: self.rank(0) and self.rank(1),
            "in an epoch": lambda: list(self.folder.glob("checkpoints/*/epoch-*")),
            "at the end": lambda: f"epoch {EPOCHS}/{EPOCHS}:" in (self.folder / "out").read_text(),
        }
        wait_for(reached[moment], self.process)

    def message(self) -> str:
        """Its one message: it has ended within its bound, and so have its workers."""
        assert self.process.wait(BOUND + LAST) == 1
        errors = (self.folder / "err").read_text()
        (found,) = [line for line in errors.splitlines() if line.startswith("error: ")]
        assert not (self.folder / "record.json").exists()
        assert not list(self.folder.glob("workers-*"))
        return found


@contextmanager
def started(*arguments, **options) -> Iterator[Run]:
    """A run; whatever happens, all of it has ended afterwards."""
    run = Run(*arguments, **options)
    try:
        yield run
    finally:
        if run.process.poll() is None:
            family = psutil.Process(run.process.pid).children(recursive=True)
            for one in [*family, run.process]:
                one.kill()
        run.process.wait()


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Call it again and again during a block, as long as the process that it acts on lives."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.is_set():
            try:
                act()
            except psutil.Error:
                return

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.injects(
    "8 workers",
    "a rank killed or stopped",
    "SIGKILL, SIGSTOP at the start, in an epoch, at the end",
    lost="the epoch",
)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize(("backend", "rank", "moment"), CASES)
def test_a_killed_or_stopped_rank_is_named(small, tmp_path, backend, rank, moment, number):
    with started(backend, small, tmp_path / "run") as run:
        run.wait_until(moment)
        run.rank(rank).send_signal(number)
        message = run.message()
        assert f"rank {rank} of 2" in message
        assert number == signal.SIGKILL or "is stopped (SIGSTOP)" in message


# A network of its own, in which rules are asked before what leads to the host itself: they can block a port.
OWN_NETWORK = (
    'ip link set lo up && ip rule add pref 100 lookup local && ip rule del pref 0 && exec "$@"'
)


def inside(run: Run, *line: str) -> str:
    """What a command prints in the network of a run."""
    space = f"--net=/proc/{run.process.pid}/ns/net"
    return subprocess.run(
        ["nsenter", space, *line], check=True, capture_output=True, text=True
    ).stdout


def block_new_ports(run: Run, rank: int, blocked: set[str]) -> None:
    """Let nothing through to or from the ports that a rank has by now."""
    process = run.rank(rank)
    if process is None or run.process.poll() is not None:
        raise psutil.NoSuchProcess(run.process.pid)
    sockets = inside(run, "ss", "--tcp", "--all", "--no-header", "--numeric", "--processes")
    own = [line.split()[3] for line in sockets.splitlines() if f"pid={process.pid}," in line]
    for port in {address.rpartition(":")[2] for address in own} - blocked:
        for side in ("sport", "dport"):
            inside(
                run, "ip", "rule", "add", "pref", "10", "ipproto", "tcp", side, port, "blackhole"
            )
        blocked.add(port)
    time.sleep(0.05)


@pytest.mark.injects(
    "8 workers",
    "a rank cut off",
    "all its ports blocked, in a network namespace of the run, at the start, in an epoch, at the end",
    lost="the epoch",
)
@pytest.mark.parametrize(("backend", "rank", "moment"), CASES)
def test_a_rank_that_is_cut_off_ends_the_run_in_its_bound(small, tmp_path, backend, rank, moment):
    """At the end it may not matter any more."""
    needs_root("makes a network namespace")
    own, blocked = ["unshare", "--net", "bash", "-c", OWN_NETWORK, "_"], set[str]()
    epochs = EPOCHS if moment == "at the end" else 500
    with started(backend, small, tmp_path / "run", epochs, own) as run:
        run.wait_until(moment)
        with meanwhile(lambda: block_new_ports(run, rank, blocked)):
            status = run.process.wait(BOUND + LAST)
        assert blocked
        if moment == "at the end" and status == 0:
            assert record.read(run.folder / "record.json").status == "completed"
        else:
            assert "of 2" in run.message()
