"""Files that are complete or not there, also after a power loss: written aside, synced, then renamed."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def writing(path: Path, mode: str = "w", *, durable: bool = True) -> Iterator[IO[Any]]:
    """Open a file that replaces `path` when the block ends; an error in the block leaves nothing.

    mode: "w" (UTF-8) or "wb". `durable`: wait until it is on the disk. Missing folders are made. One process
    at a time may write a path. An `OSError`, of a full disk, say, names the path.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open(mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
        if durable:
            sync(partial)
        partial.replace(path)
        if durable:
            sync(path.parent)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # of file systems that have no folders to sync
            raise
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Wait until a folder and all that is in it are on the disk."""
    for path in (*folder.rglob("*"), folder):
        sync(path)


def write_text(text: str, path: Path, *, durable: bool = True) -> None:
    """Write text, as `writing` does."""
    with writing(path, durable=durable) as file:
        file.write(text)


def write_bytes(content: bytes, path: Path) -> None:
    """Write bytes."""
    with writing(path, "wb") as file:
        file.write(content)


def write_json(
    content: dict[str, Any], path: Path, indent: int | None = 1, *, durable: bool = True
) -> None:
    """Write JSON; raises `ValueError` for a number that JSON does not have (NaN, infinity)."""
    write_text(json.dumps(content, indent=indent, allow_nan=False) + "\n", path, durable=durable)
