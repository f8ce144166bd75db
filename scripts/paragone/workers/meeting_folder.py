"""The folder in which the processes of one run or all-reduce meet: private, and gone afterwards."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paragone.base.locks import Held, Lock

PREFIX, HELD = "workers-", "held"


@contextmanager
def meeting_folder(beside: Path) -> Iterator[Path]:
    """A new folder in `beside`, of mode 0700, for the length of the block.

    A lock in it says that this process lives: folders that killed ones have left are removed.
    """
    beside.mkdir(parents=True, exist_ok=True)
    for left in beside.glob(f"{PREFIX}*"):
        _remove_unless_held(left)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=beside))
    held = Lock(folder / HELD)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        held.release()


def _remove_unless_held(folder: Path) -> None:
    try:
        held = Lock(folder / HELD)
    except Held:
        return
    shutil.rmtree(folder, ignore_errors=True)
    held.release()
