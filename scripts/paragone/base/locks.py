"""A lock that names its holder and that the kernel releases however its process ends.

The library `filelock` falls back to marker files on file systems without locks, and a killed process leaves
those behind; here their lack is an error.
"""

import fcntl
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paragone.base.errors import UserError


class Held(Exception):
    """Another process holds the lock; the message says which: "process 7 on node-1"."""


class Lock:
    """An exclusive lock of a file, held until `release` or the end of the process.

    Missing folders are made. `wait`: wait for the holder instead of raising `Held`. `shared`: the file may be
    another user's, whose holder is then not named.
    """

    def __init__(self, path: Path, *, wait: bool = False, shared: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            foreign = shared and path.exists() and not os.access(path, os.W_OK)
            self._file = open(path, "r" if foreign else "a+", encoding="utf-8")  # noqa: SIM115 - kept open
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                holder = self._holder()
                self._file.close()
                raise Held(holder) from None
            if self._is_at(path):
                break
            self._file.close()
        if not foreign:
            self._file.truncate(0)
            self._file.write(f"process {os.getpid()} on {socket.gethostname()}")
            self._file.flush()

    def _holder(self) -> str:
        """The holder, which writes its name a moment after it has the lock."""
        for _ in range(20):
            self._file.seek(0)
            if holder := self._file.read():
                return holder
            time.sleep(0.05)
        return "another process"

    def _is_at(self, path: Path) -> bool:
        """Whether the locked file still has its name: the previous holder may have deleted it."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), path.stat())
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            return False

    def release(self) -> None:
        """Release the lock; its file remains."""
        self._file.close()


@contextmanager
def locked(path: Path, reason: str) -> Iterator[None]:
    """Hold the lock of a file that users may share, and wait for it where another process has it.

    reason: what the holder does, for a note on stderr where this process has to wait.
    """
    try:
        lock = Lock(path, shared=True)
    except Held as holder:
        print(f"waiting: {holder} {reason}", file=sys.stderr)
        lock = Lock(path, wait=True, shared=True)
    try:
        yield
    finally:
        lock.release()


def hold_results(folder: Path, *, trainers: bool) -> Lock:
    """Lock a folder of results for this process, as two that write it would time each other.

    Snakemake's own lock is one of the working directory, and remains after a kill. trainers: whether to look
    for runs on this machine that an interrupted call has left; nothing may be timed beside them. Raises
    `UserError`.
    """
    try:
        lock = Lock(folder / ".lock")
    except Held as held:
        raise UserError(
            f"{folder.resolve()}: {held} writes these results; wait for it or end it"
        ) from None
    except OSError as error:
        raise UserError(
            f"{folder.resolve() / '.lock'}: {error.strerror}; name results that you can write to, on a "
            "file system with locks"
        ) from None
    for path in (folder / "runs").glob("*/checkpoints/lock") if trainers else ():
        try:
            Lock(path).release()
        except Held as held:
            raise UserError(
                f"{path.parent}: {held} still trains, left by an interrupted snakemake; wait for it or end it"
            ) from None
    return lock
