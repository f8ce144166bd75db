"""The coordinator's side of a contest: it starts all variants and lets one train at a time.

Interleaved as in Bulej et al., "Duet benchmarking" (ICPE 2020): what disturbs the machine for longer than a
window disturbs all variants alike, and cancels in ratios within a round.

The coordinator's order is a number of steps: train an epoch of one, then one of so many more; 0 ends the
contest. Messages go over the workers' standard input. That is a socket, so that nobody else can speak on it,
and either end learns at once that the other has ended.
"""

import math
import os
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from paragone.base.errors import UserError
from paragone.base.typed_json import Count, Part, Whole
from paragone.machine import limits
from paragone.machine.activity import HostWatch
from paragone.records.contest_record import Contestant, Window, variables
from paragone.records.run_record import Positive
from paragone.timing.calm import Calm
from paragone.workers import supervisor
from paragone.workers.worker_failure import judge, processes

QUIET = 0.01  # share of a core that the sleeping variants may use
SETTLE = 0.5  # seconds that threads of a framework may spin after their turn
PATIENCE = 600.0  # seconds for a variant to get ready, and for a window beyond ten times its length


class Trained(Part, frozen=True, tag=True):
    """A worker's reply: seconds of the epoch of one step (`first`), and of the epoch of `steps` more.

    `updates`, `batches`: in both epochs, see `contest_record.Window`.
    """

    steps: Count
    first: Positive
    seconds: Positive
    updates: Whole
    batches: Whole


class State(Part, frozen=True, tag=True):
    """A worker's reply: its variant after the first steps, at the end, or when it cannot go on."""

    contestant: Contestant


Reply = State | Trained


def link() -> Connection:
    """Return a worker's end of the socket; standard input is then empty for all else."""
    connection = Connection(os.dup(0))
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return connection


def send(link: Connection, message: Any) -> None:
    """Send a message; `BrokenPipeError` where the other end is gone."""
    link.send_bytes(msgspec.json.encode(message))


def receive(link: Connection, kind: Any) -> Any:
    """Wait for a message, an order or a `Reply`; `EOFError` where the other end is gone."""
    return msgspec.json.decode(link.recv_bytes(), type=kind)


@dataclass
class LiveVariant:
    """A variant as the coordinator sees it: its state, its processes, and the sockets to them.

    `meeting`: the folder where its workers meet. `line`: the command of each worker.
    """

    state: Contestant
    meeting: Path
    line: list[str]
    children: list[supervisor.Child] = field(default_factory=list)
    links: list[Connection] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    memory: tuple[int, int] = (0, 0)

    @property
    def playing(self) -> bool:
        """Return whether its processes live and nothing has failed."""
        return bool(self.children)

    def cpu_seconds(self) -> float:
        """Return the CPU time of its processes so far, to the microsecond."""
        return sum(_cpu_seconds(child.process.pid) for child in self.children)


class Turns(AbstractContextManager["Turns"]):
    """A contest. As a context it ends the processes of all variants.

    `cores`: those that all variants share. `seed`: decides the orders. `rounds`: number of turns of each
    variant. `length`: seconds of a turn. `calm`: what it does about windows that other work has disturbed.
    """

    def __init__(
        self,
        variants: list[LiveVariant],
        cores: Sequence[int],
        seed: int,
        rounds: int,
        length: float,
        calm: Calm,
    ) -> None:
        self.variants, self._cores = variants, cores
        self._rounds, self._length, self._calm = rounds, length, calm
        self._repeats = rounds * len(variants)
        self.windows: list[Window] = []
        self._random = np.random.default_rng(seed)
        self._host = HostWatch([os.getpid()], cores)

    def __exit__(self, *_: object) -> None:
        for variant in self.variants:
            self._end(variant)

    def take(self, *, together: bool) -> None:
        """Let the variants take turns: all alive at once (`together`), or one after the other, in random
        order, where they do not fit into memory together."""
        everyone = [*range(len(self.variants))]
        order = self._random.permutation(everyone)
        for group in [everyone] if together else [[int(index)] for index in order]:
            self._take(group)

    def _take(self, group: list[int]) -> None:
        """Start some variants, calibrate their windows when they are ready, take their turns and end them."""
        for index in group:
            self._start(self.variants[index])
        for variant in self._playing():
            self._answers(variant, PATIENCE)
            self._note_state(variant)
        for variant in self._playing():
            self._calibrate(variant)
        for number in range(1, self._rounds + 1):
            for index in self._random.permutation(group):
                if self.variants[index].playing:
                    self._window(number, int(index))
        for variant in self._playing():
            self._tell(variant, 0)
        for variant in self._playing():
            self._answers(variant, PATIENCE)
            self._note_state(variant)
            self._end(variant)

    def _start(self, variant: LiveVariant) -> None:
        if variant.state.status != "completed":  # refused, or without an environment
            return
        spec = variant.state.spec
        ends = [socket.socketpair() for _ in range(spec.workers)]
        variant.memory = limits.memory_counts()
        variant.children = supervisor.start(
            variant.line,
            spec.workers,
            tuned=variables(spec),
            affinity=self._cores,
            inputs=[theirs for _, theirs in ends],
        )
        variant.links = [Connection(ours.detach()) for ours, _ in ends]
        for _, theirs in ends:
            theirs.close()

    def _playing(self) -> list[LiveVariant]:
        return [variant for variant in self.variants if variant.playing]

    def _calibrate(self, variant: LiveVariant) -> None:
        """Find how many steps fill a window, by turns that grow until one is half as long.

        The turn with the fastest steps says how long a step takes, and never the first one alone, which pays
        for what is new to it: whatever disturbs a turn of few steps would make windows of few steps.
        """
        steps, fastest = 1, math.inf
        while turn := self._turn(variant, steps):
            is_first, fastest = math.isinf(fastest), min(fastest, turn.seconds / (1 + steps))
            fitting = max(1, round(self._length / fastest))
            variant.state = replace(variant.state, steps=fitting)
            if fitting <= 2 * steps and not is_first:
                return
            steps = min(fitting, 4 * steps)

    def _window(self, number: int, index: int) -> None:
        """Let a variant have its turn of a round, and repeat it while others disturb it.

        A contest repeats at most as many windows as it has without repeats.
        """
        while window := self._take_window(number, index):
            self.windows.append(window)
            if not self._calm.loses(window.host) or not self._repeats:
                return
            self._repeats -= 1
            children = [child for variant in self._playing() for child in variant.children]
            family = [os.getpid(), *(child.process.pid for child in children)]
            if not self._calm.wait(self._host, family):
                return

    def _take_window(self, number: int, index: int) -> Window | None:
        variant = self.variants[index]
        assert variant.state.steps is not None
        self._settle()
        sleepers = [other for other in self._playing() if other is not variant]
        before = variant.cpu_seconds(), sum(sleeper.cpu_seconds() for sleeper in sleepers)
        mark = self._host.mark()
        turn = self._turn(variant, variant.state.steps)
        if turn is None:
            return None
        (host,) = self._host.since(mark)
        turns = [reply for reply in variant.replies if isinstance(reply, Trained)]
        working = variant.cpu_seconds() - before[0]
        sleeping = sum(sleeper.cpu_seconds() for sleeper in sleepers) - before[1]
        return Window(
            round=number,
            contestant=index,
            steps=turn.steps,
            first=turn.first,
            seconds=turn.seconds,
            sleeping=max(0.0, sleeping),
            host=replace(host, run=working + max(0.0, sleeping)),
            updates=min(reply.updates for reply in turns),
            batches=min(reply.batches for reply in turns),
        )

    def _settle(self) -> None:
        """Wait until every variant sleeps: threads of TensorFlow and OpenMP spin for a while."""
        end = time.monotonic() + SETTLE
        before = [variant.cpu_seconds() for variant in self._playing()]
        while time.monotonic() < end:
            time.sleep(0.01)
            now = [variant.cpu_seconds() for variant in self._playing()]
            if sum(now) - sum(before) < 0.01 * QUIET:
                return
            before = now

    def _turn(self, variant: LiveVariant, steps: int) -> Trained | None:
        """Let a variant train `steps`; return what its first worker timed, None if it failed."""
        if variant.playing:
            self._tell(variant, steps)
            self._answers(variant, 10 * self._length + PATIENCE)
        first = variant.replies[0] if variant.playing else None
        return first if isinstance(first, Trained) else None

    def _note_state(self, variant: LiveVariant) -> None:
        """Keep what the workers of a variant have replied on it, if none has failed."""
        states = [reply.contestant for reply in variant.replies if isinstance(reply, State)]
        if variant.playing and states:
            variant.state = replace(
                states[0],
                steps=variant.state.steps,
                processes=[process for state in states for process in state.processes],
            )

    def _end(self, variant: LiveVariant) -> None:
        supervisor.end(variant.children)
        variant.children, variant.links = [], []

    def _tell(self, variant: LiveVariant, steps: int) -> None:
        for link in variant.links:
            with suppress(OSError):  # of a worker that has ended: `_answers` finds out why
                send(link, steps)

    def _answers(self, variant: LiveVariant, seconds: float) -> None:
        """Wait for the reply of every worker of a variant; one that fails ends the variant."""
        replies: dict[int, Reply] = {}
        end = time.monotonic() + seconds
        while missing := [rank for rank in range(len(variant.links)) if rank not in replies]:
            links = {rank: variant.links[rank] for rank in missing}
            speaking = wait([*links.values()], max(0.0, end - time.monotonic()))
            if not speaking:
                self._fail(variant, "failed", f"did not answer within {seconds:.0f} s")
                return
            for rank, link in links.items():
                if link not in speaking:
                    continue
                try:
                    reply = receive(link, Reply)
                except (EOFError, OSError):
                    self._judge(variant, variant.children[rank])
                    return
                if isinstance(reply, State) and reply.contestant.status != "completed":
                    self._fail(variant, reply.contestant.status, reply.contestant.reason)
                    return
                replies[rank] = reply
        variant.replies = [replies[rank] for rank in range(len(variant.links))]

    def _judge(self, variant: LiveVariant, child: supervisor.Child) -> None:
        """Find the status of a variant whose worker has ended without a message."""
        child.process.wait()
        supervisor.end(variant.children)
        full = limits.memory_was_full(variant.memory)
        workers = variant.state.spec.workers
        try:
            status, reason = judge(child, workers, variant.meeting, memory_was_full=full)
        except UserError as error:
            # A full memory before the workers have met is no result of a run; here it is one.
            killed = child.status == -signal.SIGKILL
            status, reason = "out_of_memory" if full and killed else "failed", str(error)
        except SystemExit:
            lines = child.tails.get(child.rank) or ["no output"]
            status, reason = "failed", f"its worker ended with status {child.status}: {lines[-1]}"
        self._fail(variant, status, reason)

    def _fail(self, variant: LiveVariant, status: str, reason: str | None) -> None:
        name = variant.state.spec.name
        print(f"[{name}] {status}: {reason}", flush=True)
        members = variant.state.processes
        with suppress(OSError):
            members = members or processes(variant.meeting, variant.state.spec.workers)
        self._end(variant)
        variant.state = replace(variant.state, status=status, reason=reason, processes=members)


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and all its threads, by the kernel's clock of that process."""
    with suppress(OSError):  # it has ended
        return time.clock_gettime(~pid << 3 | 2)  # what clock_getcpuclockid(3) gives on Linux
    return 0.0
