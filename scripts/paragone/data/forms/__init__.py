"""The forms of data sets, one module each, found by the name that `form` of a block gives.

A form's module has `read(source, scratch, store)`, which returns `Raw`. source: the content of source.json,
in which `parameters` is the data set's block and `path` its value of that key. scratch: an empty folder for
temporary files. store: the form's folder in the store, for files that stay. It raises `UserError` that names
the file or key for what it cannot read.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.config.datasets import SPLITS, of_split
from paragone.data.numeric import Conversion

__path__ = plugins.extended(__path__, "data/forms")

ARRAYS, WORDS, TEXTS = "arrays", "words", "texts"
WHOLE = "whole"  # the only stream of data without a test split
CHUNK_BYTES = 32 << 20  # of inputs that a stream holds at a time
BYTES = 64  # of the beginning of a file, for `kind_of`
# The beginnings of files that are often found in place of data files.
_KINDS = {
    b"version https://git-lfs": "a pointer of Git LFS: `git lfs pull` fetches the file",
    b"<!doctype html": "a web page: open it to see why there was nothing else to download",
    b"<html": "a web page: open it to see why there was nothing else to download",
    b"pk\x03\x04": "an Excel file or an archive (zip): unpack it, or save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save the table as CSV",
    b"\x28\xb5\x2f\xfd": "packed by Zstandard: unpack it",
    b"@relation": "an ARFF file: save the table as CSV",
    b"\x93numpy": "one array (.npy): name the folder that it is in as `path`",
}
KEY = 80_20  # of the permutation that holds out examples; other values make other arrays


@dataclass(frozen=True)
class ExampleStream:
    """Examples in their order; each call of `chunks` reads them again, a part at a time.

    `chunks` yields (inputs, labels). inputs: an array (n, *shape) for ARRAYS, n sequences of word indices for
    WORDS, n strings for TEXTS, (n,) tokens for a stream of them. labels: (n, *label_shape) integers from 0,
    or numbers. `title`: what inputs are read from, for messages.
    """

    examples: int
    chunks: Callable[[], Iterator[tuple[Sequence[Any] | np.ndarray, np.ndarray]]]
    title: str = ""


@dataclass(frozen=True)
class Raw:
    """The content of a data set's files.

    `kind`: ARRAYS, WORDS, TEXTS or config.datasets.STREAM. `streams`: by "train" and "test", or one by WHOLE.
    `class_names`: none where labels are numbers. `label_shape`: of an example's labels. `shape`, `dtype`: of
    an example of ARRAYS. `vocabulary`: the number of word indices, for ARRAYS of these. `rank`: (examples,)
    of a WHOLE stream, the position of each example in an order that does not depend on how the data are
    stored; None for the order of the stream. `details`: homepage and citation. `labels_from`: what the labels
    are read from, in words. `treated`: what was skipped or converted, and how often; it may grow
    while chunks are read. `notices`: sentences on what is legal and odd. `columns`: names of the numbers of
    inputs and labels.
    """

    kind: str
    streams: dict[str, ExampleStream]
    class_names: tuple[str, ...]
    made_by: str
    shape: tuple[int, ...] = ()
    dtype: type = np.uint8
    vocabulary: int | None = None
    rank: np.ndarray | None = None
    details: dict[str, str] = field(default_factory=dict)
    labels_from: str = ""
    treated: Counter[str] = field(default_factory=Counter)
    notices: list[str] = field(default_factory=list)
    label_shape: tuple[int, ...] = ()
    columns: dict[str, list[str]] = field(default_factory=dict)

    @cached_property
    def conversions(self) -> dict[str, Conversion]:
        """Inputs and labels that are numbers, not words or classes, as they are stored."""
        types: dict[str, Any] = {"inputs": self.dtype} if self.kind == ARRAYS else {}
        types |= {} if self.class_names else {"labels": np.float32}
        return {role: Conversion(role, types[role], self.columns.get(role, ())) for role in types}


def read(source: dict, scratch: Path, store: Path) -> Raw:
    """Return the content of the files of `source`, the content of source.json, read by its form.

    Raises `UserError` for what cannot be read, for a number of class names other than that of classes, and
    for the names of classes in another order than theirs.
    """
    module = plugins.load("data/forms", source["parameters"]["form"], "read")
    with plugins.explaining():
        raw = module.read(source, scratch, store)
    if not isinstance(raw, Raw):
        raise UserError(
            f"{module.__file__}: read returned {type(raw).__name__}, no Raw of paragone.data.forms"
        )
    names = tuple(source["parameters"].get("classes", raw.class_names))
    if len(names) != len(raw.class_names):
        raise UserError(
            f"datasets.{source['dataset']}.classes: {len(names)} names for the "
            f"{len(raw.class_names)} classes that there are"
        )
    if names != raw.class_names and {*names} == {*raw.class_names}:
        raise UserError(
            f"datasets.{source['dataset']}.classes: are the data's own names in another order, which is "
            f"{', '.join(raw.class_names)}; write that, or leave the key out"
        )
    return replace(raw, class_names=names)


def paths(source: dict) -> dict[str, Path]:
    """Return the file or folder of each split, or of the only stream."""
    path = source["path"]
    splits = SPLITS if isinstance(path, dict) else (WHOLE,)
    return {split: Path(of_split(path, split)) for split in splits}


def rows_at_a_time(shape: Sequence[int], dtype: Any) -> int:
    """Return the number of examples of this shape in a chunk."""
    return int(np.clip(CHUNK_BYTES // (np.dtype(dtype).itemsize * np.prod(shape)), 1, 1000))


def by_number(name: str) -> tuple[float, str]:
    """Return the key that sorts numbers as numbers, before other names."""
    try:
        number = float(name)
    except ValueError:
        return math.inf, name
    return (number if math.isfinite(number) else math.inf), name


def indicators(values: np.ndarray, name: str) -> np.ndarray:
    """Return `values`, (examples, classes). Raises `UserError` unless they are 0 or 1 for several classes."""
    if values.shape[1] < 2 or not np.isin(values, (0, 1)).all():
        raise UserError(
            f"{name}: has other values than 0 and 1 for each of two or more classes, (examples, classes); "
            "correct them, or name them as `targets` if they are numbers"
        )
    return values


def positions(examples: int, rank: np.ndarray | None) -> np.ndarray:
    """Return the position of each example, int64, drawn by a Philox permutation; the last are held out.

    rank: see `Raw`; with it, the same examples stored in another order are split alike.
    """
    drawn = np.argsort(shuffled(examples))
    return drawn if rank is None else drawn[rank]


def shuffled(examples: int) -> np.ndarray:
    """Return a fixed permutation of the indices of `examples`, int64."""
    return np.random.Generator(np.random.Philox(key=KEY)).permutation(examples)


def kind_of(begin: bytes) -> str:
    """Return what kind of file begins like this, with the remedy; "" for a kind that is not listed."""
    begin = begin.lstrip().lower()
    return next((kind for mark, kind in _KINDS.items() if begin.startswith(mark)), "")
