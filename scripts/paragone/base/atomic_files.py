"""Files that are complete or absent, also after a power loss: written under another name, synced, renamed.

And SHA-256 of files, and of JSON data independent of the order of their keys.
"""

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def writing(path: Path, mode: str = "w", *, durable: bool = True) -> Iterator[IO[Any]]:
    """Open a file that replaces `path` when the block ends; an error in the block leaves nothing.

    mode: "w" (UTF-8) or "wb". durable: wait until the file is on the disk. Missing folders are made. One
    process at a time may write a path. An `OSError`, such as that of a full disk, names the path.
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
        if error.errno != errno.EINVAL:  # of file systems that cannot sync folders
            raise
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Wait until a folder and all its content are on the disk."""
    for path in (*folder.rglob("*"), folder):
        sync(path)


def write_text(text: str, path: Path, *, durable: bool = True) -> None:
    """Write text, as `writing` does."""
    with writing(path, durable=durable) as file:
        file.write(text)


def write_bytes(content: bytes, path: Path, *, durable: bool = True) -> None:
    """Write bytes, as `writing` does."""
    with writing(path, "wb", durable=durable) as file:
        file.write(content)


def write_json(content: Any, path: Path, indent: int | None = 1, *, durable: bool = True) -> None:
    """Write JSON; raises `ValueError` for a number that JSON does not have (NaN, infinity)."""
    write_text(json.dumps(content, indent=indent, allow_nan=False) + "\n", path, durable=durable)


def is_own(folder: Path) -> bool:
    """Whether a folder belongs to the user to whom this process's new files in it belong.

    User ids are not compared with the process's own: file systems that map owners give files another one.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_uid == folder.stat().st_uid
    except PermissionError:
        return False


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical(data: dict[str, Any]) -> str:
    """JSON with sorted keys and no spaces."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def sha256_of(data: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()
