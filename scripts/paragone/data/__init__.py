"""Data sets: located and checked (`locate`), made into arrays once (`serializer`), and mapped by every run.

Importing this package stays light (NumPy and json), because every training process does it.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from paragone.base.errors import UserError


@dataclass(frozen=True, eq=False)  # compared by identity: comparing arrays is never meant
class Dataset:
    """One data set as read-only memory maps.

    Of a stream of n tokens the examples are its n - length windows, views that overlap: inputs and labels are
    (examples, length) int32, labels one token later. Of other data:
    train_inputs, test_inputs: (examples, height, width, channels) uint8 for images, (examples, length) int32
    word indices for texts. train_labels, test_labels: classes, (examples, ...) int32, or numbers, (examples,
    targets) float32, without class names. `vocabulary`: the number of word indices, None for images.
    `source`: "real" or "synthetic".
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

    @property
    def outputs(self) -> int:
        """Return the number of outputs of a model: classes, or numbers for each example."""
        return len(self.class_names) or self.train_labels.shape[1]


def drawable(images: np.ndarray) -> np.ndarray:
    """Turn images (n, height, width, channels) of any numbers into (n, height, width, 1 or 3) uint8.

    Bytes are drawn as they are. Other numbers are scaled so that the lowest and the highest become 0 and 255.
    Images of other than 1 or 3 channels become the mean of their channels.
    """
    if images.shape[-1] not in (1, 3):
        images = images.mean(-1, keepdims=True, dtype=np.float64).astype(images.dtype)
    if images.dtype == np.uint8 or not images.size:
        return images.astype(np.uint8)
    low, high = float(images.min()), float(images.max())
    scaled = (images.astype(np.float64) - low) / ((high - low) or 1)
    return np.round(255 * scaled).astype(np.uint8)


def few(dataset: Dataset, train: int, test: int) -> Dataset:
    """Return the data set with the first examples of each split alone."""
    return replace(
        dataset,
        train_inputs=dataset.train_inputs[:train],
        train_labels=dataset.train_labels[:train],
        test_inputs=dataset.test_inputs[:test],
        test_labels=dataset.test_labels[:test],
    )


def thinned(dataset: Dataset, height: int, width: int) -> Dataset:
    """Return the data set of images with every k-th row and column, the largest k that leaves these sides."""

    def thin(images: np.ndarray) -> np.ndarray:
        down, across = images.shape[1] // height, images.shape[2] // width
        return images[:, ::down, ::across][:, :height, :width]

    return replace(
        dataset, train_inputs=thin(dataset.train_inputs), test_inputs=thin(dataset.test_inputs)
    )


def load(
    manifest_path: Path | str, data_folder: Path | str, expected: str | None = None
) -> Dataset:
    """Map the arrays that a manifest describes.

    manifest_path: the output of `scripts/serialize.py`. data_folder: `data.folder` of the config, to which
    the manifest's paths are relative. expected: the name of the data set. Raises `UserError` when it is
    of another one, or when the manifest or an array is missing, truncated or of another shape.
    """
    manifest_path = Path(manifest_path)
    try:
        text = manifest_path.read_bytes()
        manifest = json.loads(text)
        if expected not in (None, manifest["dataset"]):
            raise UserError(
                f"{manifest_path} is of {manifest['dataset']}, and the workload's data set is {expected}"
            )
        folder = Path(data_folder) / manifest["folder"]
        arrays = {
            name: _map(folder / entry["file"], entry) for name, entry in manifest["arrays"].items()
        }
        if window := manifest.get("window"):
            where = f"datasets.{manifest['dataset']}"
            arrays = {name: _windows(name, array, window, where) for name, array in arrays.items()}
        return Dataset(
            name=manifest["dataset"],
            source=manifest["source"],
            edition=manifest["edition"],
            class_names=tuple(manifest["class_names"]),
            vocabulary=manifest["vocabulary"],
            manifest_sha256=hashlib.sha256(text).hexdigest(),
            **arrays,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        # A rerun without its outputs in this folder serializes again, which replaces a damaged store.
        raise UserError(
            f"{manifest_path}: it, or an array that it lists, is missing or damaged "
            f"({type(error).__name__}: {error}): delete the folder {manifest_path.parent} and run again"
        ) from None


def _windows(name: str, tokens: np.ndarray, length: int, where: str) -> np.ndarray:
    """Return all windows of a stream, (tokens - length, length), a view; labels begin one token later."""
    split, _, role = name.partition("_")
    if len(tokens) <= length:
        raise UserError(
            f"{where}.length: the {split} split has {len(tokens)} tokens, no window of {length} and one "
            "more; lower it"
        )
    first = int(role == "labels")
    return np.lib.stride_tricks.sliding_window_view(tokens, length)[first:][: len(tokens) - length]


def _map(path: Path, entry: dict) -> np.ndarray:
    """Map one array after checking its size and header; the content is not read."""
    size = path.stat().st_size
    if size != entry["bytes"]:
        raise ValueError(f"{path} has {size} bytes, its manifest says {entry['bytes']}")
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if [*array.shape] != entry["shape"] or str(array.dtype) != entry["dtype"]:
        raise ValueError(
            f"{path} holds {array.dtype} of shape {array.shape}, not as its manifest says"
        )
    return array
