"""Checkpoints of one run, in a folder that is no declared output, since Snakemake deletes those on failure.

A checkpoint is a folder "epoch-0003" that appears by a rename, so it is complete or not there. A lock
excludes a second trainer: an orphan of a killed Snakemake may still train.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paragone.base.errors import UserError


@dataclass(frozen=True)
class Saved:
    """A checkpoint: the state of the engine in `folder`, that of the loop in `progress`."""

    epoch: int
    folder: Path
    progress: dict[str, Any]


class Checkpoints:
    """The checkpoints of one run; holds the run's lock as long as the process lives.

    `context` identifies all that a checkpoint depends on; those of another context are ignored. Of
    several workers only rank 0 locks the folder and keeps what it writes.
    """

    def __init__(self, folder: Path, context: str, rank: int = 0) -> None:
        self._whole, self._rank = folder, rank
        self._folder = folder / context
        self._folder.mkdir(parents=True, exist_ok=True)
        if rank == 0:
            self._take_lock()

    def _take_lock(self) -> None:
        folder = self._whole
        self._lock = open(folder / "lock", "a+")  # noqa: SIM115 - open until the process ends
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.seek(0)
            raise UserError(
                f"{folder}: process {self._lock.read().strip()} still trains this run, perhaps left "
                "by an interrupted snakemake; wait for it or end it, then run snakemake again"
            ) from error
        self._lock.truncate(0)
        self._lock.write(str(os.getpid()))
        self._lock.flush()

    def save(
        self, epoch: int, write_state: Callable[[Path], None], progress: dict[str, Any]
    ) -> None:
        """Write the checkpoint of `epoch`, then remove the earlier ones."""
        unfinished = self._folder / f"unfinished-{self._rank}"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        write_state(unfinished)  # on every rank: TensorFlow reduces statistics over them meanwhile
        if self._rank > 0:
            shutil.rmtree(unfinished)
            return
        (unfinished / "progress.json").write_text(json.dumps(progress))
        earlier = list(self._folder.glob("epoch-*"))
        unfinished.rename(self._folder / f"epoch-{epoch:04d}")
        for folder in earlier:
            shutil.rmtree(folder)

    def last(self) -> Saved | None:
        """The newest checkpoint, or None."""
        folders = sorted(self._folder.glob("epoch-*"))
        if not folders:
            return None
        progress = json.loads((folders[-1] / "progress.json").read_text())
        return Saved(int(folders[-1].name.removeprefix("epoch-")), folders[-1], progress)

    def remove(self) -> None:
        """Delete the whole folder: the record is written, nothing is left to resume."""
        shutil.rmtree(self._whole)
