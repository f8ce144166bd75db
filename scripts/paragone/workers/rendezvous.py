"""How processes that work together find each other, wait for each other and report failures: files.

The folder belongs to one run or variant, on a file system that all workers see. So every wait has a
time limit, independent of the framework, and a report outlives its process.
"""

import errno
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from paragone.base.atomic_files import is_own, write_bytes
from paragone.base.engine_reports import ALONE, World
from paragone.base.errors import UserError, as_user_error, reason_of
from paragone.base.locks import Held, Lock
from paragone.base.typed_json import Part
from paragone.machine import accelerators

LOOPBACK = "127.0.0.1"
POLL = 0.05  # seconds between two looks at the folder
_PREFIX, _HELD = "workers-", "held"

Facts = TypeVar("Facts")


class Report(Part, frozen=True):
    """How the run ends for a rank, and when it said so, in seconds since the epoch."""

    status: str
    reason: str | None
    time: float


@contextmanager
def meeting_folder(beside: Path) -> Iterator[Path]:
    """Make a folder in `beside`, of mode 0700, for the length of the block.

    A lock in it says that this process lives: folders that killed ones have left are removed.
    """
    beside.mkdir(parents=True, exist_ok=True)
    for left in beside.glob(f"{_PREFIX}*"):
        with suppress(Held):
            Lock(left / _HELD).release()
            shutil.rmtree(left, ignore_errors=True)
    # Named so that no other takes it for left before it is locked.
    new = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=beside))
    held = Lock(new / _HELD)
    folder = new.rename(beside / new.name.removeprefix("."))
    try:
        yield folder
    finally:
        held.release()  # first: NFS keeps the name of a file that is open
        shutil.rmtree(folder, ignore_errors=True)


class Rendezvous:
    """One worker's view of the folder. Without a folder the worker is alone and reports nothing.

    `timeout`: seconds to wait for the others, each time. Raises `UserError` for a folder of another user.
    """

    def __init__(self, folder: Path | None, workers: int, timeout: float) -> None:
        if folder is None and workers > 1:
            raise UserError(f"this run has {workers} workers; start it by scripts/launch.py")
        if folder and not is_own(folder):
            raise UserError(f"--rendezvous: {folder} belongs to another user; name one of your own")
        self._folder, self._workers, self._timeout = folder, workers, timeout
        self.rank = own_rank() if folder else 0
        if not self.rank < workers:
            raise UserError(f"rank {self.rank} was started, but the run has {workers} worker(s)")

    def join(self) -> World:
        """Exchange hosts, ports and devices with the other workers.

        Raises `UserError` that names the missing ranks, an unknown host, or a port that is in use.
        """
        if self._workers == 1:
            return replace(ALONE, timeout=self._timeout)  # NCCL has one for a group of one, too
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8")
        facts = {
            # Equal for two processes of one host: the kernel's start and the network namespace.
            "node": [socket.gethostname(), boot.strip(), str(os.stat("/proc/self/ns/net").st_ino)],
            "pid": os.getpid(),
            "accelerators": accelerators.identities(),
            "cores": sorted(os.sched_getaffinity(0)),
            "address": _address(),
            "port": _free_port(self.rank),
        }
        return _world(self.rank, self.meet("start", facts), self._timeout)

    def meet(self, point: str, facts: Facts) -> list[Facts]:
        """Wait until every worker is at this point; return the facts of all, of one type, by rank.

        The own entry is `facts` itself. Raises `UserError` that names the missing ranks.
        """
        if self._folder is None:
            return [facts]
        file = place(self._folder, point, self.rank)
        write_bytes(msgspec.json.encode(facts), file, durable=False)
        present = {self.rank: facts}
        end = time.monotonic() + self._timeout
        while missing := [rank for rank in range(self._workers) if rank not in present]:
            read = {rank: _read(type(facts), place(self._folder, point, rank)) for rank in missing}
            present |= {rank: entry for rank, entry in read.items() if entry is not None}
            if len(present) == self._workers:
                break
            if time.monotonic() > end:
                ranks = ", ".join(str(rank) for rank, entry in read.items() if entry is None)
                raise UserError(
                    f"rank {ranks} of {self._workers} has not joined the others at the {point} within "
                    f"{self._timeout:g} s; see its lines in the log, or set a longer --join-timeout"
                )
            time.sleep(POLL)
        return [present[rank] for rank in range(self._workers)]

    def report(self, status: str, reason: str | None) -> None:
        """Store that the run ends here, and why; the first report stands."""
        path = place(self._folder, "report", self.rank) if self._folder else None
        if path and not path.exists():
            content = msgspec.json.encode(Report(status, reason, time.time()))
            with suppress(OSError):  # of a full disk: the worker's own lines say so
                write_bytes(content, path, durable=False)

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Report an error of the block, `refused` if it has a message for the user, else `failed`."""
        try:
            yield
        except Exception as error:
            if message := as_user_error(error):
                self.report("refused", str(message))
            else:
                self.report("failed", reason_of(error))
            raise


def own_rank() -> int:
    """Return the rank that the supervisor or srun has given this process."""
    for name in ("RANK", "SLURM_PROCID"):
        if name in os.environ:
            return int(os.environ[name])
    raise UserError("neither RANK nor SLURM_PROCID is set; start the run by scripts/launch.py")


def place(folder: Path, point: str, rank: int) -> Path:
    """The file in which a rank stores its facts at a point."""
    return folder / f"{point}-{rank}.json"


def _read(kind: type[Facts], path: Path) -> Facts | None:
    """The facts in a file; None as long as a shared file system does not have it, or not all of it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.MsgspecError:
        return None
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ESTALE):
            raise
        return None


def _address() -> str:
    """PARAGONE_ADDRESS, or this host's on the interface of its default route, or its loopback."""
    if host := os.environ.get("PARAGONE_ADDRESS"):
        try:
            return socket.gethostbyname(host)
        except OSError as error:
            raise UserError(
                f"PARAGONE_ADDRESS: host {host!r} is unknown on {socket.gethostname()}: {error}; "
                "set it to a name or number that the other hosts know this one by"
            ) from error
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # TEST-NET-1, RFC 5737; a datagram socket sends nothing
        except OSError:
            return LOOPBACK
        return probe.getsockname()[0]


def _free_port(rank: int) -> int:
    """A port that is free now: PARAGONE_PORT + rank if that is set, else any."""
    first = os.environ.get("PARAGONE_PORT")
    if first is not None and not first.isdecimal():
        raise UserError(f"PARAGONE_PORT is {first!r}; it must be a number")
    port = int(first) + rank if first else 0
    with socket.socket() as probe:
        try:
            # All interfaces, without SO_REUSEADDR: as TensorFlow's server binds it.
            probe.bind(("", port))
        except (OSError, OverflowError) as error:
            raise UserError(
                f"PARAGONE_PORT: port {port} for rank {rank} is not available on "
                f"{socket.gethostname()}: {error}; free it or set another"
            ) from error
        return probe.getsockname()[1]


def _world(rank: int, everyone: list[dict[str, Any]], timeout: float) -> World:
    this = everyone[rank]
    on_one_host = all(worker["node"] == this["node"] for worker in everyone)

    def sharers(key: str) -> list[int]:
        return [
            index
            for index, worker in enumerate(everyone)
            if (worker["node"], worker[key]) == (this["node"], this[key])
        ]

    local, cores = sharers("accelerators"), sharers("cores")
    return World(
        rank=rank,
        workers=len(everyone),
        local_rank=local.index(rank),
        local_workers=len(local),
        core_rank=cores.index(rank),
        core_workers=len(cores),
        addresses=tuple(
            f"{LOOPBACK if on_one_host else worker['address']}:{worker['port']}"
            for worker in everyone
        ),
        host_pids=tuple(worker["pid"] for worker in everyone if worker["node"] == this["node"]),
        timeout=timeout,
    )
