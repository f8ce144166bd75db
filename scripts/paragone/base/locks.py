"""A lock that says who holds it, and that the kernel releases however its process ends."""

import fcntl
import os
import socket
import time
from pathlib import Path


class Held(Exception):
    """Another process holds the lock; the message says which: "process 7 on node-1"."""


class Lock:
    """An exclusive lock of a file, held until `release` or the end of the process.

    Missing folders are made. Raises `Held`.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            self._file = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - open while it is held
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = self._holder()
                self._file.close()
                raise Held(holder) from None
            if self._is_at(path):
                break
            self._file.close()
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} on {socket.gethostname()}")
        self._file.flush()

    def _holder(self) -> str:
        """Who holds it; it says so a moment after it has it."""
        for _ in range(20):
            self._file.seek(0)
            if found := self._file.read():
                return found
            time.sleep(0.05)
        return "another process"

    def _is_at(self, path: Path) -> bool:
        """Whether the locked file still has its name: who held it before may have deleted it."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), path.stat())
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            return False

    def release(self) -> None:
        """Let others have it; the file stays."""
        self._file.close()
