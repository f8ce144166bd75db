"""The folder in which the processes of one run or variant meet: private, and gone afterwards."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from paragone.base.locks import Held, Lock

PREFIX, HELD = "workers-", "held"


@contextmanager
def meeting_folder(beside: Path) -> Iterator[Path]:
    """Make a folder in `beside`, of mode 0700, for the length of the block.

    A lock in it says that this process lives: folders that killed ones have left are removed.
    """
    beside.mkdir(parents=True, exist_ok=True)
    for left in beside.glob(f"{PREFIX}*"):
        with suppress(Held):
            Lock(left / HELD).release()
            shutil.rmtree(left, ignore_errors=True)
    # Named so that no other takes it for left before it is locked.
    new = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=beside))
    held = Lock(new / HELD)
    folder = new.rename(beside / new.name.removeprefix("."))
    try:
        yield folder
    finally:
        held.release()  # first: NFS keeps the name of a file that is open
        shutil.rmtree(folder, ignore_errors=True)
