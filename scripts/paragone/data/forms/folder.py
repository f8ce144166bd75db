"""A folder of images: one folder per class in it, named after the class."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from paragone.base.errors import UserError
from paragone.base.tensorflow import tf
from paragone.config.datasets import SPLITS, of_split
from paragone.data.forms import ARRAYS, WHOLE, Raw, Stream, rows_at_a_time, shuffled
from paragone.data.images import decoded
from paragone.data.locate import files_below

Labelled = list[tuple[Path, int]]


def read(source: dict, scratch: Path, kept: Path) -> Raw:
    """Read images of one shape (size, size, channels), uint8."""
    options, where = source["parameters"], f"datasets.{source['dataset']}"
    path = source["path"]
    named = SPLITS if isinstance(path, dict) else (WHOLE,)
    roots = {name: Path(of_split(path, name)) for name in named}
    classes = {name: _classes(root) for name, root in roots.items()}
    names = classes[named[0]]
    for name, others in classes.items():
        if others != names:
            raise UserError(
                f"{where}.path: {roots[name]} has the classes {', '.join(others)}; "
                f"{roots[named[0]]} has {', '.join(names)}"
            )
    shape = (options["size"], options["size"], options.get("channels", 3))
    return Raw(
        kind=ARRAYS,
        streams={name: _stream(_images(root, names), shape) for name, root in roots.items()},
        class_names=names,
        made_by=f"tensorflow {tf.__version__}",
        shape=shape,
    )


def _classes(root: Path) -> tuple[str, ...]:
    folders = (path.name for path in root.iterdir() if path.is_dir())
    classes = tuple(sorted(name for name in folders if not name.startswith(".")))
    if len(classes) < 2:
        raise UserError(f"{root}: not a folder with two or more folders in it, one for each class")
    return classes


def _images(root: Path, names: tuple[str, ...]) -> Labelled:
    """Every image with its label, in a fixed random order, so that every chunk has all classes."""
    images = [
        (path, label) for label, name in enumerate(names) for path in files_below(root / name)
    ]
    return [images[index] for index in shuffled(len(images))]


def _stream(images: Labelled, shape: tuple[int, int, int]) -> Stream:
    def chunks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rows = rows_at_a_time(shape, np.uint8)
        with ThreadPoolExecutor() as pool:  # TensorFlow decodes without the GIL
            for start in range(0, len(images), rows):
                paths, labels = zip(*images[start : start + rows], strict=True)
                decode = partial(decoded, size=shape[0], channels=shape[2])
                yield np.stack(list(pool.map(decode, paths))), np.array(labels)

    return Stream(len(images), chunks)
