"""Arrays on disk, written as they are filled."""

import os
from pathlib import Path
from typing import Any

import numpy as np


def create(path: Path, shape: tuple[int, ...], dtype: Any) -> np.memmap:
    """A new array on disk. Raises `OSError` where there is no room for all of it.

    The room is taken now: a full disk ends a process that writes into a map, by SIGBUS and without a word.
    """
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            error.filename = str(path)
            raise
    return array
