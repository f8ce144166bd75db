"""Map the serialized arrays of one data set: no framework, no copy, no decoding."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paragone.base.errors import UserError


@dataclass(frozen=True)
class Origin:
    """What the arrays were made from: the `recipe` of their manifest, and the store that they are in."""

    store: Path
    recipe: dict


@dataclass(frozen=True, eq=False)  # two are the same only if they are one: arrays are not compared
class Dataset:
    """One data set as read-only memory maps.

    train_inputs, test_inputs: (examples, height, width, channels) uint8 for images,
    (examples, length) int32 word indices for texts; train_labels, test_labels: (examples,) int32.
    `vocabulary` is the number of word indices, None for images. `source` is "real" or "synthetic".
    `origin`: None of arrays that were made in memory.
    """

    name: str
    source: str
    edition: str
    train_inputs: np.ndarray
    train_labels: np.ndarray
    test_inputs: np.ndarray
    test_labels: np.ndarray
    class_names: tuple[str, ...]
    vocabulary: int | None
    manifest_sha256: str
    origin: Origin | None = None


def load(manifest_path: Path | str, data_folder: Path | str) -> Dataset:
    """Map the arrays that a manifest describes.

    manifest_path: the file that `scripts/serialize.py` wrote; data_folder: `data.folder` of the
    config, to which the manifest's paths are relative.
    Raises UserError when the manifest or an array is missing, truncated or of another shape.
    """
    manifest_path = Path(manifest_path)
    try:
        text = manifest_path.read_bytes()
        manifest = json.loads(text)
    except FileNotFoundError:
        raise UserError(f"{manifest_path} is missing: run scripts/serialize.py first") from None
    except ValueError:
        raise UserError(f"{manifest_path} is not valid JSON: {_remedy(manifest_path)}") from None
    try:
        folder = Path(data_folder) / manifest["folder"]
        arrays = {
            name: _map(folder / entry["file"], entry, manifest_path)
            for name, entry in manifest["arrays"].items()
        }
        return Dataset(
            name=manifest["dataset"],
            source=manifest["source"],
            edition=manifest["edition"],
            class_names=tuple(manifest["class_names"]),
            vocabulary=manifest["vocabulary"],
            manifest_sha256=hashlib.sha256(text).hexdigest(),
            origin=Origin(Path(data_folder), manifest["recipe"]),
            **arrays,
        )
    except (KeyError, TypeError, AttributeError) as error:
        message = f"{manifest_path} is not the manifest of a data set ({error!r})"
        raise UserError(f"{message}: {_remedy(manifest_path)}") from None


def _map(path: Path, entry: dict, manifest_path: Path) -> np.ndarray:
    """One array, after a check of its size and header that reads no more than the header."""
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        raise UserError(f"{path} is missing: {_remedy(manifest_path)}") from None
    if found != entry["bytes"]:
        raise UserError(
            f"{path} has {found} bytes, its manifest says {entry['bytes']}: "
            f"{_remedy(manifest_path)}"
        )
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise UserError(
            f"{path} is not a NumPy array ({error}): {_remedy(manifest_path)}"
        ) from None
    if list(array.shape) != entry["shape"] or str(array.dtype) != entry["dtype"]:
        raise UserError(
            f"{path} holds {array.dtype}{list(array.shape)}, its manifest says "
            f"{entry['dtype']}{entry['shape']}: {_remedy(manifest_path)}"
        )
    return array


def _remedy(manifest_path: Path) -> str:
    # Without its outputs in this folder the workflow serializes again, which replaces a damaged
    # store.
    return f"delete the folder {manifest_path.parent} and run again"
