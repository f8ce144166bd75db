"""The data sets that workloads name: the block of each, and what of it a rule depends on."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paragone.base import plugins
from paragone.base.atomic_files import sha256
from paragone.base.errors import UserError, meant

TFDS = "tfds"  # the form that any builder of TensorFlow Datasets has; before a slash, a name without a block
STREAM = "stream"  # the form of a text or of tokens as one stream
SPLITS = ("train", "test")
MEASURED = ("train", "validation", "test")  # a run may hold out a part of its training split
# Beside source.json: states of its content, see `state_of_files`; the first is that of what was fetched.
STATES = "states.json"
# Keys of a block that do not shape the arrays made from it; the second are those of files with checksums.
_BESIDE, _BESIDE_LISTED = ("path", "about", "stand_in"), ("editions", "address", "mirror")


def block_of(datasets: dict[str, dict[str, Any]], name: str, where: str) -> dict[str, Any]:
    """Return one of the blocks by name; for `tfds/<builder>` a block of defaults.

    Raises `UserError` naming the key, `where`, for an unknown name.
    """
    if name in datasets:
        return datasets[name]
    form, _, builder = name.partition("/")
    if form == TFDS and builder:
        return {"form": TFDS, "builder": builder}
    raise UserError(
        f"{where}: there is no data set {name!r}{meant(name, datasets)}; known are {', '.join(datasets)}, "
        f"and {TFDS}/<builder> for any builder of TensorFlow Datasets"
    )


def shaping(block: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a block that shape its arrays; `code`: SHA-256 of plugins' code that does."""
    beside = (*_BESIDE, *_BESIDE_LISTED) if block["form"] in (TFDS, STREAM, "idx") else _BESIDE
    shapes = {key: value for key, value in block.items() if key not in beside}
    names = (f"forms/{block['form']}", f"builders/{block.get('builder')}")
    files = [
        file
        for folder in plugins.folders()
        if any((folder / f"data/{name}.py").exists() for name in names)
        for file in sorted((folder / "data").rglob("*.py"))
    ]
    if files:
        content = b"\0".join(file.read_bytes() for file in files)
        shapes["code"] = hashlib.sha256(content).hexdigest()
    return shapes


def of_split(value: Any, split: str) -> Any:
    """Return the value of a key for a split: there is one for both, or one for each."""
    return value[split] if isinstance(value, dict) else value


def state_of_files(block: dict[str, Any]) -> str:
    """Return the SHA-256 of paths, sizes and times of the files below `path`; if it changes, read again.

    A folder's own time says nothing of the files in folders below it. `st_ctime_ns` is the only time that no
    program sets.
    """
    lines = []
    for path in dict.fromkeys(Path(of_split(block["path"], split)) for split in SPLITS):
        files = sorted(files_below(path)) if path.is_dir() else [path] if path.exists() else []
        for file in files:
            status = file.stat() if file.exists() else file.lstat()
            times = status.st_mtime_ns, status.st_ctime_ns
            lines.append(f"{file}\0{status.st_size}\0{times}")
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()


# What systems and programs leave in folders, and nobody means as data.
_LEFT_BEHIND = {"__macosx", "__pycache__", "@eadir", "$recycle.bin", "system volume information"}
_LEFT_BEHIND |= {"lost+found", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"}


def left_behind(name: str) -> bool:
    """Return whether a file or folder of this name is hidden, or was left by a system, and is no data."""
    lower = name.lower()
    # The last is of a file in which Windows says where another one comes from.
    return name.startswith(".") or lower in _LEFT_BEHIND or lower.endswith("zone.identifier")


def files_below(folder: Path, above: tuple[tuple[int, int], ...] = ()) -> Iterator[Path]:
    """Yield all files in a folder and the folders in it, also through links; not what is `left_behind`.

    A link to a folder above itself is not followed. A link to nothing is a file, which cannot be read.
    """
    status = folder.stat()
    here = (status.st_dev, status.st_ino)
    if here in above:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if left_behind(entry.name):
                continue
            if entry.is_dir():
                yield from files_below(Path(entry.path), (*above, here))
            elif entry.is_file() or not os.path.exists(entry.path):
                yield Path(entry.path)


def local_files(path: str | dict[str, str]) -> list[dict[str, Any]]:
    """Return name, path, bytes and SHA-256 of each file at a block's `path`; [] if one is missing.

    A folder is represented by its direct entries. A folder among these, which may hold any number of files,
    is one entry. What is `left_behind` is ignored.
    """
    files = []
    for split in SPLITS if isinstance(path, dict) else SPLITS[:1]:
        root = Path(of_split(path, split))
        prefix = f"{split}/" if isinstance(path, dict) else ""
        if not root.exists():
            return []
        entries = sorted(root.iterdir()) if root.is_dir() else [root]
        files += [
            {"name": f"{prefix}{entry.name}", "path": str(entry), **_measured(entry)}
            for entry in entries
            if entry == root or not left_behind(entry.name)
        ]
    return files


def checksums(files: list[dict[str, Any]]) -> dict[str, str]:
    """Return name -> SHA-256 of described files."""
    return {file["name"]: file["sha256"] for file in files}


def _measured(path: Path) -> dict[str, Any]:
    if path.is_file():
        return {"bytes": path.stat().st_size, "sha256": sha256(path)}
    # The digest of a folder is the SHA-256 of what `sha256sum` prints of its files, sorted by name.
    digest, size = hashlib.sha256(), 0
    files = ((file.relative_to(path).as_posix(), file) for file in files_below(path))
    for name, file in sorted(files):
        size += file.stat().st_size
        digest.update(f"{sha256(file)}  {name}\n".encode(errors="surrogateescape"))
    return {"bytes": size, "sha256": digest.hexdigest()}
