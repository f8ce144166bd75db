"""The files that a user names by `path`, and their checksums."""

import hashlib
from pathlib import Path
from typing import Any

from paragone.base.digests import sha256
from paragone.config.datasets import SPLITS, of_split


def described(path: str | dict[str, str]) -> list[dict[str, Any]]:
    """name, path, bytes and SHA-256 of each file of `path`, the value of that key; [] where one is missing.

    A folder stands for what is directly in it; a folder therein, which may hold any number of files, is one
    entry. Hidden files do not count.
    """
    found = []
    for split in SPLITS if isinstance(path, dict) else SPLITS[:1]:
        named = Path(of_split(path, split))
        prefix = f"{split}/" if isinstance(path, dict) else ""
        if not named.exists():
            return []
        for each in _visible(named) if named.is_dir() else [named]:
            found.append({"name": f"{prefix}{each.name}", "path": str(each), **_measured(each)})
    return found


def checksums(files: list[dict[str, Any]]) -> dict[str, str]:
    """Name -> SHA-256."""
    return {file["name"]: file["sha256"] for file in files}


def _measured(path: Path) -> dict[str, Any]:
    if path.is_file():
        return {"bytes": path.stat().st_size, "sha256": sha256(path)}
    # Of a folder: the SHA-256 of what `sha256sum` prints of the files in it, sorted by name.
    digest, size = hashlib.sha256(), 0
    for file in files_below(path):
        size += file.stat().st_size
        digest.update(f"{sha256(file)}  {file.relative_to(path).as_posix()}\n".encode())
    return {"bytes": size, "sha256": digest.hexdigest()}


def files_below(folder: Path) -> list[Path]:
    """All files in a folder and its folders, sorted by their path; no hidden ones."""
    found = (path for path in folder.rglob("*") if path.is_file())
    visible = (path for path in found if not _hidden(path.relative_to(folder)))
    return sorted(visible, key=lambda path: path.relative_to(folder).as_posix())


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not _hidden(Path(path.name)))


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
