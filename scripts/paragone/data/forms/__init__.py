"""The forms that data sets come in: one module each, found by the name that `form` of a block gives.

A form's module has `read(source, scratch, kept)`, which returns `Raw`. `source`: the content of source.json,
of which `parameters` is the data set's block, and `path` what it says of that key. `scratch`: an empty folder
for files of its own, removed afterwards; `kept`: one in the store that stays. It raises `UserError` that
names the file or key for what it cannot read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base import plugins
from paragone.base.errors import UserError

__path__ = plugins.extended(__path__, "data/forms")

ARRAYS, WORDS, TEXTS = "arrays", "words", "texts"
WHOLE = "whole"  # the one stream of data without a test split
CHUNK_BYTES = 32 << 20  # of inputs that a stream holds at a time


@dataclass(frozen=True)
class Stream:
    """Examples in their order; each call of `chunks` reads them once more, never all at a time.

    `chunks` yields (inputs, labels): of ARRAYS an array (n, *shape), of WORDS n sequences of word
    indices, of TEXTS n strings; labels (n,), integers from 0.
    """

    examples: int
    chunks: Callable[[], Iterator[tuple[Sequence[Any] | np.ndarray, np.ndarray]]]


@dataclass(frozen=True)
class Raw:
    """What a form has found in the files of a data set.

    `kind`: ARRAYS, WORDS or TEXTS. `streams`: by "train" and "test", or one by WHOLE. `shape`, `dtype`: of
    one example of ARRAYS; `vocabulary`: the number of word indices if they are those. `rank`: (examples,) of
    a WHOLE stream, the place of each example in an order that does not depend on how it is stored; None for
    that of the stream. `about`: homepage and citation.
    """

    kind: str
    streams: dict[str, Stream]
    class_names: tuple[str, ...]
    made_by: str
    shape: tuple[int, ...] = ()
    dtype: type = np.uint8
    vocabulary: int | None = None
    rank: np.ndarray | None = None
    about: dict[str, str] = field(default_factory=dict)


def read(source: dict, scratch: Path, kept: Path) -> Raw:
    """What the form of `source`, the content of source.json, finds in its files.

    Raises `UserError` for what cannot be read, and for other class names than there are classes.
    """
    module = plugins.load("data/forms", source["parameters"]["form"])
    with plugins.explaining():
        raw = module.read(source, scratch, kept)
    if not isinstance(raw, Raw):
        raise UserError(
            f"{module.__file__}: read returned {type(raw).__name__}, no Raw of paragone.data.forms"
        )
    named = tuple(source["parameters"].get("classes", raw.class_names))
    if len(named) != len(raw.class_names):
        raise UserError(
            f"datasets.{source['dataset']}.classes: {len(named)} names for the "
            f"{len(raw.class_names)} classes that there are"
        )
    return replace(raw, class_names=named)


def rows_at_a_time(shape: Sequence[int], dtype: Any) -> int:
    """How many examples of this shape a chunk holds."""
    return int(np.clip(CHUNK_BYTES // (np.dtype(dtype).itemsize * np.prod(shape)), 1, 1000))
