"""NumPy arrays in an .npz file or a folder of .npy files, read in parts and never unpickled.

Floats and integers become float32, and uint8 stays uint8. With `vocabulary`, integers are word indices.
Labels are classes, one for each example or for each of its positions, -1 where `ignored`; `indicators` are
0 or 1 for each class; `targets` are numbers.
"""

import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base.errors import UserError
from paragone.config.datasets import SPLITS, of_split
from paragone.data.contents import BYTES, kind_of
from paragone.data.forms import ARRAYS, WHOLE, Raw, Stream, by_number, indicators, rows_at_a_time


@dataclass(frozen=True)
class _Stored:
    """An array in a file, which `parts(rows)` reads that many rows at a time."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    parts: Callable[[int], Iterator[np.ndarray]]


def read(source: dict, scratch: Path, kept: Path) -> Raw:
    """Read inputs, and labels that may be integers or strings, or targets that are numbers."""
    options, where = source["parameters"], f"datasets.{source['dataset']}"
    learned = next((key for key in ("targets", "indicators") if key in options), "labels")
    arrays = [options.get(key, key) for key in ("inputs", learned)]
    several = any(isinstance(each, dict) for each in (source["path"], *arrays))
    named = SPLITS if several else (WHOLE,)
    inputs, labels = (
        {name: _open(Path(of_split(source["path"], name)), of_split(each, name)) for name in named}
        for each in arrays
    )
    vocabulary, first = options.get("vocabulary"), inputs[named[0]]
    names: tuple[str, ...] = ()
    notices: list[str] = []
    if "targets" in options:
        known = {name: _targets(array) for name, array in labels.items()}
    elif "indicators" in options:
        known = {name: indicators(_targets(array), array.name) for name, array in labels.items()}
        names = tuple(map(str, range(labels[named[0]].shape[1])))
    else:
        known = {name: _labels(array, inputs[name]) for name, array in labels.items()}
        values = np.unique(np.concatenate([each.ravel() for each in known.values()]))
        none = str(options["ignored"]) if "ignored" in options else None
        names = tuple(sorted({*map(str, values)} - {none}, key=by_number))
        codes = {none: -1} | {name: code for code, name in enumerate(names)}
        if none and (none not in map(str, values) or known[named[0]].ndim == 1):
            raise UserError(
                f"{where}.ignored: {', '.join(array.name for array in labels.values())} has no label {none} "
                "among several of an example; leave the key, or such examples, out"
            )
        places = np.array([codes[str(value)] for value in values], np.int64)
        known = {name: places[np.searchsorted(values, each)] for name, each in known.items()}
        if values.dtype.kind == "i" and (below := {str(v) for v in values[values < 0]} - {none}):
            notices.append(
                f"label {min(below)} is a class; if it means that there is none, leave it out, or "
                "name it as `ignored`"
            )
    shape, dtype = _target(first, vocabulary)
    for name in named:
        array = inputs[name]
        if _target(array, vocabulary) != (shape, dtype) or len(known[name]) != array.shape[0]:
            raise UserError(
                f"{where}: {array.name} is {array.dtype} of shape {array.shape}, and there are "
                f"{len(known[name])} labels in {labels[name].name}; {first.name} is {first.dtype} of shape "
                f"{first.shape}"
            )
    return Raw(
        kind=ARRAYS,
        streams={name: _stream(inputs[name], known[name], shape, dtype) for name in named},
        label_shape=known[named[0]].shape[1:],
        class_names=names,
        made_by=f"numpy {np.__version__}",
        shape=shape,
        dtype=dtype,
        vocabulary=vocabulary,
        labels_from=", ".join(dict.fromkeys(array.name for array in labels.values())),
        notices=[*notices, *_axes(first)],
    )


def _axes(array: _Stored) -> list[str]:
    """A notice where channels seem to be the first axis of images; `UserError` where they clearly are."""
    _, *axes = array.shape
    if len(axes) != 3 or axes[0] not in (1, 3, 4) or axes[2] <= 4:
        return []
    text = (
        f"{array.name}: its shape {array.shape} is read as (examples, height, width, channels), and the "
        "channels seem to be the first axis; store numpy.moveaxis(images, 1, -1)"
    )
    if axes[1] == axes[2]:
        raise UserError(text)
    return [f"{text} if so"]


def _target(array: _Stored, vocabulary: int | None) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype of one example in the store. Images without channels get an axis for them."""
    if array.dtype.kind not in "biuf" or len(array.shape) < 2 or 0 in array.shape:
        raise UserError(
            f"{array.name}: {array.dtype} of shape {array.shape}; inputs are numbers of "
            "shape (examples, ...), one or more along each axis"
        )
    shape = (*array.shape[1:], 1) if len(array.shape) == 3 else array.shape[1:]
    if vocabulary is None:
        return shape, np.uint8 if array.dtype == np.uint8 else np.float32
    if array.dtype.kind not in "iu" or len(array.shape) != 2:
        raise UserError(f"{array.name}: word indices are integers of shape (examples, length)")
    return shape, np.int32


def _targets(array: _Stored) -> np.ndarray:
    """The numbers, (examples, targets) float32. Raises `UserError` for what is none, or of other shape."""
    if array.dtype.kind not in "biuf" or len(array.shape) not in (1, 2) or 0 in array.shape:
        raise UserError(
            f"{array.name}: {array.dtype} of shape {array.shape}; targets and indicators are numbers "
            "of shape (examples,) or (examples, targets)"
        )
    found = np.concatenate([*array.parts(1_000_000)])
    with np.errstate(over="ignore"):  # what float32 cannot hold is found with what is not finite
        return found.reshape(len(found), -1).astype(np.float32)


def _labels(array: _Stored, inputs: _Stored) -> np.ndarray:
    """The labels, integers or strings, one for each example or each position of its inputs.

    Raises `UserError` with the remedy for others.
    """
    positions = array.shape[1:]
    several = positions == inputs.shape[1 : len(array.shape)] and positions[-1:] != (1,)
    if array.dtype.kind not in "biuU" or (positions and not several):
        numbers = "labels.astype(int), or name them as `targets` if they are numbers"
        of_kind = {"f": numbers, "S": "labels.astype(str)"}.get(array.dtype.kind, "")
        remedy = of_kind if len(array.shape) == 1 else ""
        if positions[-1:] == (1,):
            remedy = "labels[..., 0]"
        elif len(array.shape) == 2:
            remedy = "labels.argmax(1), if they are one-hot"
        raise UserError(
            f"{array.name}: {array.dtype} of shape {array.shape}; labels are integers or strings of shape "
            f"(examples,){remedy and f': store {remedy}'}"
        )
    found = np.concatenate([np.zeros((0, *positions), array.dtype), *array.parts(1_000_000)])
    rows = found.ndim == 2 and found.dtype.kind in "biu"
    if rows and (found.sum(1) == 1).all() and found.max() == 1:
        raise UserError(
            f"{array.name}: seems to be one-hot, with a single 1 in each row; store labels.argmax(1)"
        )
    if found.dtype.kind == "U" and (empty := np.char.strip(found) == "").any():
        raise UserError(
            f"{array.name}: row {np.argwhere(empty)[0, 0]} has an empty label; fill it, or leave the row out"
        )
    return found


def _stream(inputs: _Stored, labels: np.ndarray, shape: tuple[int, ...], dtype: Any) -> Stream:
    def chunks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        larger = max(np.dtype(dtype), inputs.dtype, key=lambda each: each.itemsize)
        rows, start = rows_at_a_time(shape, larger), 0
        for part in inputs.parts(rows):
            # What float32 cannot hold is found with what is not finite.
            with np.errstate(over="ignore"):
                stored = part.reshape(-1, *shape).astype(dtype)
            if dtype == np.int32 and (stored != part).any():
                raise UserError(f"{inputs.name}: {part.max()} is no index of a word")
            yield stored, labels[start : start + len(part)]
            start += len(part)

    return Stream(len(labels), chunks, inputs.name)


def _open(path: Path, name: str) -> _Stored:
    """The array of a name: a member of an .npz file, or <name>.npy in a folder."""
    try:
        return _of_folder(path / f"{name}.npy") if path.is_dir() else _of_archive(path, name)
    except zipfile.BadZipFile:
        with path.open("rb") as file:
            begin = file.read(BYTES)
        cut = "cut off or damaged; take another copy" if begin.startswith(b"PK") else ""
        other = kind_of(begin) or "neither an .npz file nor a folder of .npy files"
        raise UserError(f"{path}: is {cut or other}") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: no array {name!r} can be read from it: {error}") from None


def _of_folder(path: Path) -> _Stored:
    array = np.load(path, mmap_mode="r", allow_pickle=False)

    def parts(rows: int) -> Iterator[np.ndarray]:
        for start in range(0, len(array), rows):
            yield np.array(array[start : start + rows])

    return _Stored(str(path), array.shape, array.dtype, parts)


def _of_archive(path: Path, name: str) -> _Stored:
    """A member of an archive, compressed or not; `numpy.load` would read it as a whole."""
    with zipfile.ZipFile(path) as archive:
        members = [member.removesuffix(".npy") for member in archive.namelist()]
        if name not in members:
            raise ValueError(f"it has {', '.join(members)}")
        with archive.open(f"{name}.npy") as file:
            shape, dtype = _header(file)

    def parts(rows: int) -> Iterator[np.ndarray]:
        row = dtype.itemsize * int(np.prod(shape[1:]))
        try:
            with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
                _header(file)
                for start in range(0, shape[0], rows):
                    count = min(rows, shape[0] - start)
                    yield np.frombuffer(file.read(count * row), dtype).reshape(count, *shape[1:])
        except (EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise UserError(f"{path}: {name!r} is damaged ({error}); take another copy") from None

    return _Stored(f"{name} of {path}", shape, dtype, parts)


def _header(file: Any) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and dtype. Raises `ValueError` for Python objects, and for arrays stored by column."""
    version = np.lib.format.read_magic(file)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in read_header:
        raise ValueError(f"its format is {version}; save it with numpy.savez")
    shape, by_column, dtype = read_header[version](file)
    if dtype.hasobject:
        raise ValueError(
            "it holds Python objects, which are not unpickled; store it as numbers, or strings by "
            "astype(str)"
        )
    if by_column and len(shape) > 1:
        raise ValueError("it is stored by column; save numpy.ascontiguousarray of it")
    return shape, dtype
