"""Checkpoints of one run, in a folder that is no declared output, since Snakemake deletes those on failure.

A checkpoint is a folder "epoch-0003" that appears by a rename after all in it is on the disk, so it is
complete or not there. It has the digests of its files: a damaged one is passed over for the one before, which
is kept for that. A file that a network's folder does not show yet is waited for. A lock excludes a second
trainer: an orphan of a killed Snakemake may still train.
"""

import errno
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from paragone.base.atomic_files import sha256, sync, sync_tree, write_bytes, write_json
from paragone.base.errors import UserError, first_line, says_memory_is_full
from paragone.base.locks import Held, Lock
from paragone.workers.rendezvous import Rendezvous

PROGRESS, DIGESTS = "progress.json", "digests.json"
NUMBER = 2  # of checkpoints: the newest, and the one before
LATE = 30.0  # seconds in which a network's folder shows what another host has written, as in profiles/slurm
POLL = 0.2  # seconds between two looks at it
ALONE = Rendezvous(None, workers=1, timeout=0)


@dataclass(frozen=True)
class Saved:
    """A checkpoint: the state of the engine in `folder`, that of the loop in `progress`."""

    epoch: int
    folder: Path
    progress: Any


class Checkpoints:
    """The checkpoints of one run; holds the run's lock as long as the process lives.

    `context` identifies all that a checkpoint depends on; those of another context are ignored. Of
    several workers only rank 0 locks the folder, keeps what it writes, and says in the `meeting` which
    checkpoint all of them take. Raises `UserError` if another process holds the lock.
    """

    def __init__(self, folder: Path, context: str, meeting: Rendezvous = ALONE) -> None:
        self._whole, self._meeting = folder, meeting
        self._folder = folder / context
        if meeting.rank == 0:
            try:
                self._lock = Lock(folder / "lock")
            except Held as held:
                raise UserError(
                    f"{folder}: {held} still trains this run, perhaps left by an interrupted snakemake; wait "
                    "for it or end it, then run snakemake again"
                ) from None
        self._folder.mkdir(parents=True, exist_ok=True)

    def save(self, epoch: int, write_state: Callable[[Path], None], progress: object) -> None:
        """Write the checkpoint of `epoch`, then remove all but it and the one before.

        Raises `UserError` if it cannot be written: those before it are kept.
        """
        unfinished = self._folder / f"unfinished-{self._meeting.rank}"
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            unfinished.mkdir()
            # On every rank: TensorFlow reduces statistics over them meanwhile.
            write_state(unfinished)
            if self._meeting.rank == 0:
                write_bytes(msgspec.json.encode(progress), unfinished / PROGRESS, durable=False)
                files = [path for path in unfinished.rglob("*") if path.is_file()]
                digests = {path.relative_to(unfinished).as_posix(): sha256(path) for path in files}
                write_json(digests, unfinished / DIGESTS, durable=False)
                sync_tree(unfinished)
        except Exception as error:  # whatever a framework calls a full disk
            shutil.rmtree(unfinished, ignore_errors=True)
            if isinstance(error, MemoryError) or says_memory_is_full(str(error)):
                raise  # a result
            raise UserError(
                f"{self._folder}: the checkpoint of epoch {epoch} cannot be written: {first_line(error)}; "
                "make room there, say, then run again: it goes on from the checkpoint before"
            ) from error
        if self._meeting.rank > 0:
            shutil.rmtree(unfinished)
            return
        unfinished.rename(self._at(epoch))
        sync(self._folder)
        for earlier in self._epochs()[:-NUMBER]:
            shutil.rmtree(self._at(earlier))

    def last(self, kind: type) -> Saved | None:
        """Return the newest undamaged checkpoint, the same on every rank, or None; `kind`: its progress."""
        newest = self._newest_undamaged() if self._meeting.rank == 0 else None
        epoch = self._meeting.meet("checkpoint", {"epoch": newest})[0]["epoch"]
        if epoch is None:
            return None
        folder = self._at(epoch)
        if self._meeting.rank > 0 and (fault := damage(folder)):
            raise UserError(
                f"{folder}: {fault}, as rank {self._meeting.rank} sees it; rank 0 sees all of it: look at "
                "how their hosts mount it, then run again"
            )
        content = (folder / PROGRESS).read_bytes()
        return Saved(epoch, folder, msgspec.json.decode(content, type=kind))

    def remove(self) -> None:
        """Delete the whole folder: the record is written, nothing is left to resume."""
        self._lock.release()  # first: NFS keeps the name of a file that is open
        shutil.rmtree(self._whole)

    def _at(self, epoch: int) -> Path:
        return self._folder / f"epoch-{epoch:04d}"

    def _epochs(self) -> list[int]:
        return sorted(
            int(path.name.removeprefix("epoch-")) for path in self._folder.glob("epoch-*")
        )

    def _newest_undamaged(self) -> int | None:
        """Return the newest undamaged epoch; delete the damaged ones after it, which the run makes again."""
        for epoch in reversed(self._epochs()):
            if (fault := damage(self._at(epoch))) is None:
                return epoch
            print(f"warning: {self._at(epoch)}: {fault}; going back one checkpoint", flush=True)
            shutil.rmtree(self._at(epoch))
        return None


def damage(checkpoint: Path) -> str | None:
    """Return what of a checkpoint is not as it was written, or None. Raises `OSError` if it cannot be read.

    A file that is absent, or stale, may be seen later: it has `LATE` seconds.
    """
    end = time.monotonic() + LATE
    while True:
        try:
            digests = json.loads((checkpoint / DIGESTS).read_text(encoding="utf-8"))
            wrong = [name for name, right in digests.items() if sha256(checkpoint / name) != right]
            return f"{wrong[0]} is damaged" if wrong else None
        except (NotADirectoryError, ValueError, AttributeError) as error:
            return f"damaged ({error})"
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ESTALE) and time.monotonic() < end:
                time.sleep(POLL)
            elif error.errno == errno.ENOENT:
                return f"damaged ({error})"
            else:
                raise
