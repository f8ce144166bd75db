"""Starts processes that work together, relays what they print, and ends all of them when one fails.

For the workers of a run or a contest, and probes. Not torchrun: it needs torch, which
TensorFlow's environment does not have; its workers survive when it is killed; and it has no statuses.
On several hosts srun starts the workers, and this module watches srun.
"""

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from socket import socket
from threading import Lock, Thread
from types import FrameType, MappingProxyType
from typing import Any, BinaryIO, TextIO

import psutil
from msgspec.structs import replace

from paragone.base.errors import Interrupted
from paragone.base.interpreters import python_of
from paragone.base.processes import environment
from paragone.base.typed_json import write_job

GRACE = 5.0  # seconds between SIGTERM and SIGKILL: TensorFlow's workers swallow the first
TAIL = 20  # lines of a failed worker that are shown
_LABEL = re.compile(r"(\d+): ?(.*)", re.DOTALL)  # of srun --label
# What the project prints of a run, and what begins a traceback: they may repeat.
_REPEATING = re.compile(r"\[[a-z][a-z0-9-]*[ .][a-z]|Traceback |error: ")
_NUMBERS = re.compile(r"[-+.e\d]*\d[-+.e\d]*")
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_printing = Lock()


@dataclass
class Child:
    """A process of the supervisor: one worker, or the srun of all of them.

    `rank`: None for srun, whose lines name their rank. `tails`: the last lines by rank. `stopped`: of the
    first that failed, the ranks beside it that were stopped (SIGSTOP) at that moment.
    """

    process: subprocess.Popen
    rank: int | None
    prefixed: bool
    tails: dict[int | None, deque[str]] = field(default_factory=dict)
    relays: list[Thread] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)

    @property
    def status(self) -> int:
        """Return the exit status, or minus the signal that ended the process."""
        return self.process.returncode

    def relay(self) -> None:
        """Relay both streams from now on."""
        streams = [(self.process.stdout, sys.stdout), (self.process.stderr, sys.stderr)]
        self.relays = [Thread(target=self._relay, args=pair, daemon=True) for pair in streams]
        for thread in self.relays:
            thread.start()

    def settle(self) -> None:
        """Wait until all output of the ended process is relayed."""
        for thread in self.relays:
            thread.join(timeout=GRACE)  # a helper that it left behind may hold the pipe

    def _relay(self, source: BinaryIO, target: TextIO) -> None:
        # A model that prints, or warns, in each step says it once.
        seen: set[tuple[int | None, str]] = set()
        is_new, left_out = True, 0
        for raw in source:
            rank, line = self.rank, raw.decode(errors="replace")
            if rank is None and (labelled := _LABEL.fullmatch(line)):
                rank, line = int(labelled[1]), labelled[2]
            self.tails.setdefault(rank, deque(maxlen=TAIL)).append(line.rstrip("\n"))
            if not line[:1].isspace():  # what is indented belongs to the line before it
                key = rank, _NUMBERS.sub("0", line)
                is_new = key not in seen or bool(_REPEATING.match(line))
                seen.add(key)
            if not is_new:
                left_out += 1
                continue
            prefix = f"[rank {rank}] " if self.prefixed and rank is not None else ""
            # Go on even if nobody reads: the worker would block on a full pipe.
            with suppress(OSError), _printing:
                print(f"{prefix}{line}", end="", file=target, flush=True)
        if left_out:
            with suppress(OSError), _printing:
                print(
                    f"left out: {left_out} lines that repeat others, but for numbers", file=target
                )


def run(line: list[str], ranks: int, **options: Any) -> Child | None:
    """Run `ranks` workers of this command to their end; the first that failed, or None.

    `options`: of `start`. Raises `Interrupted` if this process is asked to end. However this ends, no worker
    and nothing that a worker started is left.
    """
    children: list[Child] = []
    with interruptible():  # also while they end: a second signal may follow the first
        try:
            children += start(line, ranks, **options)
            failed = first_to_fail(children)
        except BaseException:
            end(children)
            raise
    if failed:
        failed.stopped = [
            child.rank for child in children if child.rank is not None and _stops(child)
        ]
        end(children)
    for child in children:
        child.settle()
    return failed


def hand_over(job: Any, program: str) -> None:
    """Run a program with the Python that its job names, and end as it does; return where that is this one.

    `job`: with `pythons`, see `interpreters.python_of`, which raises `Unavailable`.
    """
    if (python := python_of(job.pythons)) != sys.executable:
        with tempfile.TemporaryDirectory() as folder:
            path = write_job(replace(job, pythons=()), Path(folder))
            child = run([python, program, str(path)], 1)
        sys.exit(child.status if child else 0)


def start(
    line: list[str],
    ranks: int,
    nodes: int = 1,
    cores: int = 1,
    tuned: Mapping[str, str] = MappingProxyType({}),
    affinity: Collection[int] = (),
    inputs: Sequence[socket] = (),
) -> list[Child]:
    """Start the workers of `run`: on this host, or on those of the Slurm allocation.

    `cores`: per worker, for srun, which does not inherit them from the job. `tuned`: all environment
    variables that tune the workers; those of this process are not passed on. `affinity`: the cores of this
    host that its workers share; by default those of this process. `inputs`: on this host, the socket that
    each has as its standard input; nothing by default.
    """
    variables = environment(tuned)
    if nodes > 1:
        variables.pop("RANK", None)
        srun = [
            "srun",
            f"--nodes={nodes}",
            f"--ntasks={ranks}",
            f"--cpus-per-task={cores}",
            "--export=ALL",  # also in a job that was submitted with --export=NONE
            "--label",
            "--kill-on-bad-exit=1",
            "--unbuffered",
        ]
        # SIGTERM: srun then ends its tasks on the other hosts.
        return [_start([*srun, *line], variables, None, True, _prepare(signal.SIGTERM))]
    prepare = _prepare(signal.SIGKILL, affinity)
    streams = [entry.fileno() for entry in inputs] or [subprocess.DEVNULL] * ranks
    return [
        _start(line, variables | {"RANK": str(rank)}, rank, ranks > 1, prepare, stream)
        for rank, stream in enumerate(streams)
    ]


def _start(
    line: list[str],
    variables: dict[str, str],
    rank: int | None,
    prefixed: bool,
    prepare: Callable[[], None],
    standard_input: int = subprocess.DEVNULL,
) -> Child:
    with _delaying_signals():
        process = subprocess.Popen(
            line,
            env=variables,
            stdin=standard_input,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a process group of its own, so that its helpers end with it
            preexec_fn=prepare,
        )
    child = Child(process, rank, prefixed)
    child.relay()
    return child


def _prepare(number: int, affinity: Collection[int] = ()) -> Callable[[], None]:
    """Executed by a child before its program: it takes its cores, and a signal when its parent ends."""
    parent = os.getpid()

    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # it ended before we asked
            os.kill(os.getpid(), signal.SIGKILL)
        if affinity:
            os.sched_setaffinity(0, affinity)

    return prepare


def first_to_fail(children: list[Child]) -> Child | None:
    """Wait until all have ended well (None), or until one has failed."""
    living: dict[Any, Child] = {os.pidfd_open(child.process.pid): child for child in children}
    while living:
        # Not each in turn: the first to end may be any of them.
        ended: dict[Any, Child] = {handle: living.pop(handle) for handle in wait(living)}
        for handle, child in ended.items():
            os.close(handle)
            child.process.wait()
        # Of several at once, one ended by a signal is the cause of those that exit by themselves.
        if failed := [child for child in ended.values() if child.status != 0]:
            return min(failed, key=lambda child: child.status)
    return None


def _stops(child: Child) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(child.process.pid).status() == psutil.STATUS_STOPPED)
    return False


def end(children: list[Child]) -> None:
    """End every child and the processes that it has started; returns when they have ended."""
    for child in children:
        _signal_group(child.process.pid, signal.SIGTERM)
    last = time.monotonic() + GRACE
    for child in children:
        with suppress(subprocess.TimeoutExpired):
            child.process.wait(max(0.0, last - time.monotonic()))
    for child in children:
        _signal_group(child.process.pid, signal.SIGKILL)
        child.process.wait()
        child.settle()


def _signal_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM, SIGINT and SIGHUP raise `Interrupted` in the block, once."""

    def interrupt(number: int, _: FrameType | None) -> None:
        for ignored in _SIGNALS:
            signal.signal(ignored, signal.SIG_IGN)
        raise Interrupted(number)

    with _handling(interrupt):
        yield


@contextmanager
def _handling(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


@contextmanager
def _delaying_signals() -> Iterator[None]:
    """Deliver the signals of `interruptible` after the block: Python drops what is raised while it forks."""
    came: list[int] = []
    try:
        with _handling(lambda number, _: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])
