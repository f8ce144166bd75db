"""The content-addressed store behind `data.folder`, shared by checkouts and frameworks.

    raw/<dataset>/<edition>/           files downloaded from an address, checked
    tfds/                              what TensorFlow Datasets prepared from them
    arrays/<dataset>-<recipe>/         the arrays and their manifest.json
    weights/<model>-<recipe>/          pretrained weights, see pretrained.py

A folder of arrays appears whole (built aside, then renamed) and is never changed afterwards.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

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
    digest = hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()
    return folder / "arrays" / f"{of['dataset']}-{digest[:12]}"


def complete(arrays: Path) -> bool:
    """Whether a folder of arrays has a manifest and every array at its full size."""
    try:
        manifest = json.loads((arrays / "manifest.json").read_bytes())
        return all(
            (arrays / entry["file"]).stat().st_size == entry["bytes"]
            for entry in manifest["arrays"].values()
        )
    except (OSError, ValueError):
        return False


@contextmanager
def lock(folder: Path, dataset: str) -> Iterator[None]:
    """Let one process at a time fill the store with `dataset`; released even by a kill.

    Raises UserError when the folder cannot be written.
    """
    held = FileLock(folder / f".{dataset}.lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
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
        aside.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        aside.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
