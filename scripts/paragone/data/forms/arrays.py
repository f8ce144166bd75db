"""NumPy arrays in an .npz file or a folder of .npy files, mapped and never unpickled.

Floats and integers become float32, and uint8 stays uint8. With `vocabulary`, integers are word indices.
Labels are classes, one for each example or for each of its positions, -1 where `ignored`; `indicators` are
0 or 1 for each class; `targets` are numbers.
"""

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base.errors import UserError
from paragone.config.datasets import SPLITS, of_split
from paragone.data import forms


@dataclass(frozen=True)
class Stored:
    """The mapped `values` of a file, and its name in messages."""

    name: str
    values: np.ndarray

    @property
    def kind(self) -> str:
        """Dtype and shape for messages."""
        return f"{self.values.dtype} of shape {self.values.shape}"


def read(source: dict, scratch: Path, store: Path) -> forms.Raw:
    """Read inputs, and labels that may be integers or strings, or targets that are numbers."""
    options = source["parameters"]
    role = next((key for key in ("targets", "indicators") if key in options), "labels")
    keys = [options.get(key, key) for key in ("inputs", role)]
    separate = any(isinstance(key, dict) for key in (source["path"], *keys))
    paths = {
        split: Path(of_split(source["path"], split))
        for split in (SPLITS if separate else (forms.WHOLE,))
    }
    inputs, stored = (
        {split: _open(path, of_split(key, split), scratch / split) for split, path in paths.items()}
        for key in keys
    )
    return of_arrays(source, role, inputs, stored)


def of_arrays(
    source: dict, role: str, inputs: dict[str, Stored], stored: dict[str, Stored]
) -> forms.Raw:
    """Return the data set of these arrays, one for each split. role: the key that `stored` has in a block."""
    options, where, splits = source["parameters"], f"datasets.{source['dataset']}", [*inputs]
    labels_from = ", ".join(dict.fromkeys(array.name for array in stored.values()))
    names: tuple[str, ...] = ()
    if role == "targets":
        labels = {split: _targets(array) for split, array in stored.items()}
    elif role == "indicators":
        labels = {
            split: forms.indicators(_targets(array), array.name) for split, array in stored.items()
        }
        names = tuple(map(str, range(labels[splits[0]].shape[1])))
    else:
        values = {split: _labels(array, inputs[split]) for split, array in stored.items()}
        distinct = np.unique(np.concatenate([array.ravel() for array in values.values()]))
        none = str(options["ignored"]) if "ignored" in options else None
        names = tuple(sorted({*map(str, distinct)} - {none}, key=forms.by_number))
        codes = {none: -1} | {name: code for code, name in enumerate(names)}
        if none and (none not in map(str, distinct) or values[splits[0]].ndim == 1):
            raise UserError(
                f"{where}.ignored: {labels_from} has no label {none} among several of an example; leave the "
                "key, or such examples, out"
            )
        places = np.array([codes[str(value)] for value in distinct], np.int64)
        labels = {
            split: places[np.searchsorted(distinct, array)] for split, array in values.items()
        }
    vocabulary, first = options.get("vocabulary"), inputs[splits[0]]
    shape, dtype = _target(first, vocabulary)
    for split, array in inputs.items():
        if _target(array, vocabulary) != (shape, dtype) or len(labels[split]) != len(array.values):
            raise UserError(
                f"{where}: {array.name} is {array.kind}, and there are {len(labels[split])} labels in "
                f"{stored[split].name}; {first.name} is {first.kind}"
            )
    return forms.Raw(
        kind=forms.ARRAYS,
        streams={split: _stream(inputs[split], labels[split], shape, dtype) for split in splits},
        label_shape=labels[splits[0]].shape[1:],
        class_names=names,
        made_by=f"numpy {np.__version__}",
        shape=shape,
        dtype=dtype,
        vocabulary=vocabulary,
        labels_from=labels_from,
        notices=_axes(first),
    )


def _axes(array: Stored) -> list[str]:
    """Return a notice where channels seem to be the first axis; `UserError` where they clearly are."""
    _, *axes = array.values.shape
    if len(axes) != 3 or axes[0] not in (1, 3, 4) or axes[2] <= 4:
        return []
    text = (
        f"{array.name}: its shape {array.values.shape} is read as (examples, height, width, channels), and "
        "the channels seem to be the first axis; store numpy.moveaxis(images, 1, -1)"
    )
    if axes[1] == axes[2]:
        raise UserError(text)
    return [f"{text} if so"]


def _target(array: Stored, vocabulary: int | None) -> tuple[tuple[int, ...], Any]:
    """Return shape and dtype of an example in the store. Images without channels get an axis for them."""
    values = array.values
    if values.dtype.kind not in "biuf" or values.ndim < 2 or 0 in values.shape:
        raise UserError(
            f"{array.name}: {array.kind}; inputs are numbers of shape (examples, ...), one or more along "
            "each axis"
        )
    shape = (*values.shape[1:], 1) if values.ndim == 3 else values.shape[1:]
    if vocabulary is None:
        return shape, np.uint8 if values.dtype == np.uint8 else np.float32
    if values.dtype.kind not in "iu" or values.ndim != 2:
        raise UserError(f"{array.name}: word indices are integers of shape (examples, length)")
    return shape, np.int32


def _targets(array: Stored) -> np.ndarray:
    """Return the numbers, (examples, targets). Raises `UserError` for other types and shapes."""
    values = array.values
    if values.dtype.kind not in "biuf" or values.ndim not in (1, 2) or 0 in values.shape:
        raise UserError(
            f"{array.name}: {array.kind}; targets and indicators are numbers of shape (examples,) or "
            "(examples, targets)"
        )
    return values.reshape(len(values), -1)


def _labels(array: Stored, inputs: Stored) -> np.ndarray:
    """Return the labels, integers or strings, one for each example or each position of its inputs.

    Raises `UserError` with the remedy for others.
    """
    values = array.values
    positions = values.shape[1:]
    several = positions == inputs.values.shape[1 : values.ndim] and positions[-1:] != (1,)
    if values.dtype.kind not in "biuU" or (positions and not several):
        numbers = "labels.astype(int), or name them as `targets` if they are numbers"
        of_kind = {"f": numbers, "S": "labels.astype(str)"}.get(values.dtype.kind, "")
        remedy = of_kind if values.ndim == 1 else ""
        if positions[-1:] == (1,):
            remedy = "labels[..., 0]"
        elif values.ndim == 2:
            remedy = "labels.argmax(1), if they are one-hot"
        raise UserError(
            f"{array.name}: {array.kind}; labels are integers or strings of shape (examples,)"
            f"{remedy and f': store {remedy}'}"
        )
    rows = values.ndim == 2 and values.dtype.kind in "biu"
    if rows and (values.sum(1) == 1).all() and values.max() == 1:
        raise UserError(
            f"{array.name}: seems to be one-hot, with a single 1 in each row; store labels.argmax(1)"
        )
    if values.dtype.kind == "U" and (empty := np.char.strip(values) == "").any():
        raise UserError(
            f"{array.name}: row {np.argwhere(empty)[0, 0]} has an empty label; fill it, or leave the row out"
        )
    # Beside those of another split, which have a sign, they would become floats.
    return values.astype(np.int64) if values.dtype.kind == "u" else values


def _stream(
    inputs: Stored, labels: np.ndarray, shape: tuple[int, ...], dtype: Any
) -> forms.ExampleStream:
    def chunks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        larger = max(np.dtype(dtype), inputs.values.dtype, key=lambda kind: kind.itemsize)
        rows = forms.rows_at_a_time(shape, larger)
        for start in range(0, len(labels), rows):
            part = inputs.values[start : start + rows]
            if dtype == np.int32 and (part.astype(dtype) != part).any():
                raise UserError(f"{inputs.name}: {part.max()} is no index of a word")
            yield part.reshape(-1, *shape), labels[start : start + rows]

    return forms.ExampleStream(len(labels), chunks, inputs.name)


def _open(path: Path, name: str, scratch: Path) -> Stored:
    """Return an array: a member of an .npz file, unpacked into `scratch`, or <name>.npy in a folder."""
    try:
        file, shown = path / f"{name}.npy", f"{path / name}.npy"
        if not path.is_dir():
            shown = f"{name} of {path}"
            with zipfile.ZipFile(path) as archive:
                members = [member.removesuffix(".npy") for member in archive.namelist()]
                if name not in members:
                    raise ValueError(f"it has {', '.join(members)}")
                file = Path(archive.extract(f"{name}.npy", scratch))
        return Stored(shown, np.asarray(np.lib.format.open_memmap(file, mode="r")))
    except (zipfile.BadZipFile, zlib.error, EOFError):
        with path.open("rb") as content:
            begin = content.read(forms.BYTES)
        cut = "cut off or damaged; take another copy" if begin.startswith(b"PK") else ""
        other = forms.kind_of(begin) or "neither an .npz file nor a folder of .npy files"
        raise UserError(f"{path}: is {cut or other}") from None
    except (OSError, ValueError) as error:
        why = str(error)
        if "Python objects" in why:
            why = "it holds Python objects; store it as numbers, or strings by astype(str)"
        raise UserError(f"{path}: no array {name!r} can be read from it: {why}") from None
