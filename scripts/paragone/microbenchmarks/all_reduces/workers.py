"""The processes of one group: started together, ended together, whatever happens to any of them."""

import ctypes
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing import connection, get_context
from multiprocessing.process import BaseProcess
from typing import Any

from paragone.base.errors import UserError
from paragone.microbenchmarks.all_reduces import WORKERS, Place

_PR_SET_PDEATHSIG = 1


def run(
    work: Callable[..., Any], strategy: str, replicas: int, seconds: float, *arguments: Any
) -> Any:
    """What `work(place, *arguments)` returns in the first of as many processes as the strategy needs.

    Each is a new interpreter: virtual devices can be made once a process. Raises `UserError` when one
    fails or all take longer than `seconds`. None outlives this call, nor this process.
    """
    workers = replicas if strategy in WORKERS else 1
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        addresses = _free_addresses(workers)
        receiver, sender = context.Pipe(duplex=False)
        processes = [
            context.Process(
                target=_work,
                args=(work, Place(rank, workers, replicas, addresses, folder), sender, arguments),
                name=f"rank {rank} of {workers}",
            )
            for rank in range(workers)
        ]
        try:
            for process in processes:
                process.start()
            sender.close()
            return _first_result(processes, receiver, seconds)
        finally:
            for process in processes:
                if process.pid:
                    process.kill()  # TensorFlow's workers swallow SIGTERM
                    process.join()


def _work(
    work: Callable[..., Any], place: Place, sender: connection.Connection, arguments: tuple
) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        result = work(place, *arguments)
    except UserError as error:
        result = error
    if place.rank == 0 or isinstance(result, UserError):
        sender.send(result)
    signal.pause()  # until all are ended together: no process sees another leave


def _first_result(
    processes: list[BaseProcess], receiver: connection.Connection, seconds: float
) -> Any:
    end = time.monotonic() + seconds
    by_sentinel = {process.sentinel: process for process in processes}
    watched = [receiver, *by_sentinel]
    while ready := connection.wait(watched, max(0.0, end - time.monotonic())):
        for sentinel in ready:
            if process := by_sentinel.get(sentinel):
                process.join()
                raise UserError(
                    f"all-reduce: {process.name} ended with exit code {process.exitcode}; "
                    "its messages stand above in the log"
                )
        try:
            result = receiver.recv()
        except EOFError:  # all are ending; their sentinels follow
            watched.remove(receiver)
            continue
        if isinstance(result, UserError):
            raise result
        return result
    raise UserError(
        f"all-reduce: no result of {len(processes)} process(es) after {seconds:g} s; they were ended"
    )


def _free_addresses(count: int) -> tuple[str, ...]:
    """Loopback addresses with ports that are free now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return tuple(f"127.0.0.1:{one.getsockname()[1]}" for one in sockets)
