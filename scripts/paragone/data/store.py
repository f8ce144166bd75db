"""The content-addressed store behind `data.folder`, shared by checkouts and frameworks.

    raw/<dataset>/<edition>/           checked downloads
    <form>/                            files that a form keeps: tfds/, prepared by TensorFlow Datasets
    arrays/<dataset>-<recipe>/         the arrays and their manifest.json
    weights/<model>-<recipe>/          pretrained weights, see pretrained.py

A folder of arrays appears whole (built under another name, synced, then renamed) and never changes
afterwards. Several users may share the store: files are refused unless they belong to the user, to root or to
the owner of `data.folder`.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base.atomic_files import sha256, sync, sync_tree
from paragone.base.errors import UserError
from paragone.base.locks import locked

# Raise this when the code that decodes, resizes, splits or generates changes its result.
RECIPE = 2


def recipe(dataset: str, edition: str, files: dict[str, str], parameters: dict) -> dict:
    """Return everything that the arrays depend on. files: name -> SHA-256 of each raw file."""
    return {
        "version": RECIPE,
        "dataset": dataset,
        "edition": edition,
        "files": files,
        "parameters": parameters,
    }


def arrays_folder(folder: Path, of: dict) -> Path:
    """Return the folder for the arrays of a recipe, which may not exist yet."""
    return folder / "arrays" / f"{plain(of['dataset'])}-{digest(of)[:12]}"


def digest(of: dict) -> str:
    """Return the SHA-256 of a dictionary, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()


def plain(dataset: str) -> str:
    """Return the name of a data set as the name of a file or folder."""
    return dataset.replace("/", "-")


def complete(arrays: Path, *, checked: bool = False) -> bool:
    """Return whether a folder of arrays has a manifest and every array at its full size.

    checked: whether each must have its SHA-256, too. Raises `UserError` if it belongs to another user.
    """
    check_owner(arrays, arrays.parents[1])
    try:
        listed = json.loads((arrays / "manifest.json").read_bytes())["arrays"].values()
        return all(
            (arrays / entry["file"]).stat().st_size == entry["bytes"]
            and (not checked or sha256(arrays / entry["file"]) == entry["sha256"])
            for entry in listed
        )
    except (OSError, ValueError):
        return False


def check_owner(path: Path, folder: Path) -> None:
    """Raise `UserError` if `path`, in the store `folder`, exists and belongs to another user."""
    with suppress(FileNotFoundError, NotADirectoryError):
        owner = path.stat().st_uid
        if owner not in (os.geteuid(), 0, folder.stat().st_uid):
            raise UserError(
                f"{path} belongs to user {owner}, who is neither you nor the owner of data.folder {folder}; "
                "set data.folder to one of your own, or ask its owner to take that over (chown)"
            )


def lock(folder: Path, dataset: str) -> AbstractContextManager[None]:
    """Let one process at a time fill the store with `dataset`; others wait and say for whom."""
    return locked(folder / f".{plain(dataset)}.lock", f"fills {folder} with {dataset}")


@contextmanager
def building(target: Path) -> Iterator[Path]:
    """Yield a new folder that is renamed to `target` on success and removed on failure.

    To be used under `lock`: what a killed process left of the same target is removed first.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{target.name}-*"):
        shutil.rmtree(left, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield partial
        partial.chmod(target.parent.stat().st_mode & 0o777)  # mkdtemp makes a private folder
        sync_tree(partial)
        if target.exists():
            shutil.rmtree(target)
        partial.rename(target)
        sync(target.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def new_array(path: Path, shape: tuple[int, ...], dtype: Any) -> np.memmap:
    """Return a new array on disk, written as it is filled. Raises `OSError` without room for all of it.

    The room is reserved at once: writing into a map on a full disk would end the process by SIGBUS, without a
    message.
    """
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            error.filename = str(path)
            raise
    return array
