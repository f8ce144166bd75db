"""A folder of images: one folder per class in it, named after the class."""

import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from PIL import __version__ as pillow

from paragone.base.errors import UserError
from paragone.base.tensorflow import tf
from paragone.config.datasets import files_below, left_behind
from paragone.data import forms
from paragone.data.images import decoded

Labelled = list[tuple[Path, int]]
# Names of folders that hold a split, not a class, where two of them are there.
SPLIT_NAMES = {"train", "training", "test", "testing", "val", "valid", "validation", "dev", "eval"}


def read(source: dict, scratch: Path, store: Path) -> forms.Raw:
    """Read images of one shape (size, size, channels), uint8."""
    options, roots = source["parameters"], forms.paths(source)
    treated: Counter[str] = Counter()
    (first, names), *rest = ((root, _classes(root, treated)) for root in roots.values())
    for root, classes in rest:
        if classes != names:
            raise UserError(
                f"datasets.{source['dataset']}.path: {root} has the classes {', '.join(classes)}; "
                f"{first} has {', '.join(names)}"
            )
    shape = (options["size"], options["size"], options.get("channels", 3))
    rows = forms.rows_at_a_time(shape, np.uint8)
    decode = partial(decoded, size=shape[0], channels=shape[2], limits=options.get("range"))
    images = {split: _images(root, names) for split, root in roots.items()}
    return forms.Raw(
        kind=forms.ARRAYS,
        streams={
            split: forms.ExampleStream(
                len(images[split]),
                partial(_chunks, images[split], decode, rows, treated),
                f"images of {root}",
            )
            for split, root in roots.items()
        },
        class_names=names,
        made_by=f"pillow {pillow}, tensorflow {tf.__version__}",
        labels_from=f"the folders of {source['path']}",
        shape=shape,
        treated=treated,
    )


def _classes(root: Path, treated: Counter[str]) -> tuple[str, ...]:
    """Return the names of the classes. Raises `UserError` for splits, and for fewer than two classes."""
    if not root.is_dir():
        raise UserError(f"{root}: is a file; name the folder that has one folder for each class")
    entries = [*root.iterdir()]
    inside = [path for path in entries if not left_behind(path.name)]
    classes = tuple(sorted(_folders(root), key=forms.by_number))
    splits = [name for name in classes if name.lower() in SPLIT_NAMES]
    if len(splits) > 1:
        train, test = sorted(
            splits, key=lambda name: ("tr", "te", name.lower()[:2]).index(name.lower()[:2])
        )[:2]
        raise UserError(
            f"{root}: holds the splits {', '.join(splits)}, not classes; write `path: {{train: "
            f"{root / train}, test: {root / test}}}`"
        )
    if len(classes) < 2:
        deeper = [path for path in inside if path.is_dir() and len(_folders(path)) > 1]
        remedy = f"; write `path: {deeper[0]}`, which has some" if deeper else ""
        raise UserError(
            f"{root}: not a folder with two or more folders in it, one for each class{remedy}"
        )
    beside = sum(not path.is_dir() for path in inside)
    treated["files beside the folders of the classes, not read"] += beside
    treated["left by a system or hidden, not read"] += len(entries) - len(inside)
    return classes


def _folders(root: Path) -> dict[str, list[Path]]:
    """Return the folders in `root` by the names of their classes, in NFC: macOS decomposes accents.

    Raises `UserError` for a name that is no text.
    """
    folders: dict[str, list[Path]] = {}
    for path in root.iterdir():
        if path.is_dir() and not left_behind(path.name):
            if os.fsencode(path.name).decode(errors="ignore") != path.name:
                raise UserError(f"{os.fsencode(path)!r}: its name is no text in UTF-8; rename it")
            folders.setdefault(unicodedata.normalize("NFC", path.name), []).append(path)
    return folders


def _images(root: Path, names: tuple[str, ...]) -> Labelled:
    """Return every image with its label, in a fixed random order, so that every chunk has all classes.

    Raises `UserError` for a class without an image.
    """
    images: Labelled = []
    folders = _folders(root)
    for label, name in enumerate(names):
        # Sorted by name in the folder of the class, wherever that is.
        files = [path for folder in folders[name] for path in files_below(folder)]
        files.sort(key=lambda path: path.relative_to(root).as_posix())
        if not files:
            raise UserError(
                f"{root / name}: has no image, so it is no class; remove it, or put its images there"
            )
        images += [(path, label) for path in files]
    return [images[index] for index in forms.shuffled(len(images))]


def _chunks(
    images: Labelled, decode: Callable[[Path], tuple], rows: int, treated: Counter[str]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    # Pillow and TensorFlow decode and resize without the GIL.
    with ThreadPoolExecutor() as pool:
        for start in range(0, len(images), rows):
            paths, labels = zip(*images[start : start + rows], strict=True)
            values, treatments = zip(*pool.map(decode, paths), strict=True)
            treated.update(f"images {treatment}" for image in treatments for treatment in image)
            yield np.stack(values), np.array(labels)
