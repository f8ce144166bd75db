"""The content-addressed store behind `data.folder`, shared by checkouts and frameworks.

    raw/<dataset>/<edition>/           files downloaded from an address, checked
    raw/<dataset>/.arriving/           what has arrived of others
    <form>/                            what a form keeps: tfds/, what TensorFlow Datasets prepared
    arrays/<dataset>-<recipe>/         the arrays and their manifest.json
    weights/<model>-<recipe>/          pretrained weights, see pretrained.py

A folder of arrays appears whole (built aside, synced, then renamed) and is never changed afterwards. Several
people may share the store: what belongs to anybody else than oneself, root and the owner of `data.folder` is
refused.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from paragone.base.atomic_files import sync, sync_tree
from paragone.base.digests import sha256
from paragone.base.errors import UserError

# Raise this when the code that decodes, resizes, splits or generates changes its result.
RECIPE = 1


def recipe(dataset: str, edition: str, files: dict[str, str], parameters: dict) -> dict:
    """All that the arrays depend on. files: name -> SHA-256 of each raw file."""
    return {
        "version": RECIPE,
        "dataset": dataset,
        "edition": edition,
        "files": files,
        "parameters": parameters,
    }


def arrays_folder(folder: Path, of: dict) -> Path:
    """Where the arrays of a recipe are, or will be."""
    return folder / "arrays" / f"{plain(of['dataset'])}-{digest(of)[:12]}"


def digest(of: dict) -> str:
    """SHA-256 of a dictionary, in whatever order its keys are."""
    return hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()


def plain(dataset: str) -> str:
    """A data set's name as that of one file or folder."""
    return dataset.replace("/", "-")


def complete(arrays: Path) -> bool:
    """Whether a folder of arrays has a manifest and every array at its full size.

    Raises `UserError` if it belongs to a stranger.
    """
    check_owner(arrays, arrays.parents[1])
    try:
        return all(path.stat().st_size == entry["bytes"] for path, entry in _listed(arrays))
    except (OSError, ValueError):
        return False


def undamaged(arrays: Path) -> bool:
    """Whether every array of a folder is as it was written, by its SHA-256. Raises as `complete` does."""
    return complete(arrays) and all(sha256(path) == one["sha256"] for path, one in _listed(arrays))


def _listed(arrays: Path) -> list[tuple[Path, dict]]:
    """The arrays of a folder, each with its entry in the manifest."""
    manifest = json.loads((arrays / "manifest.json").read_bytes())
    return [(arrays / entry["file"], entry) for entry in manifest["arrays"].values()]


def check_owner(path: Path, folder: Path) -> None:
    """Raise `UserError` if `path`, in the store `folder`, is there and belongs to a stranger."""
    with suppress(FileNotFoundError, NotADirectoryError):
        owner = path.stat().st_uid
        if owner not in (os.geteuid(), 0, folder.stat().st_uid):
            raise UserError(
                f"{path} belongs to user {owner}, who is neither you nor the owner of data.folder {folder}; "
                "set data.folder to one of your own, or ask its owner to take that over (chown)"
            )


@contextmanager
def lock(folder: Path, dataset: str) -> Iterator[None]:
    """Let one process at a time fill the store with `dataset`; released even by a kill.

    Says so where it has to wait. Raises UserError when the folder cannot be written.
    """
    held = FileLock(folder / f".{plain(dataset)}.lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            held.acquire(blocking=False)
        except Timeout:
            print(f"waiting: another process fills {folder} with {dataset}", file=sys.stderr)
            held.acquire()
    except OSError as error:
        raise UserError(f"data.folder {folder} cannot be written: {error.strerror}") from None
    try:
        yield
    finally:
        held.release()


@contextmanager
def building(target: Path) -> Iterator[Path]:
    """A new folder beside `target` that takes its place on success and vanishes on failure.

    To be used under `lock`: what a killed process left of the same target is removed first.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{target.name}-*"):
        shutil.rmtree(left, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield aside
        aside.chmod(target.parent.stat().st_mode & 0o777)  # that of mkdtemp is private
        sync_tree(aside)
        if target.exists():
            shutil.rmtree(target)
        aside.rename(target)
        sync(target.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
