"""Write what a form reads as four plain arrays, chunk by chunk: memory does not grow with the data."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base.errors import UserError
from paragone.config.datasets import SPLITS
from paragone.data import splits
from paragone.data.arrays import create
from paragone.data.forms import ARRAYS, TEXTS, WHOLE, Raw
from paragone.data.words import Vocabulary, pad

LENGTH, WORDS = 300, 20_000  # of texts, where the block says nothing


def write(raw: Raw, source: dict, target: Path) -> int | None:
    """Write <split>_inputs.npy and <split>_labels.npy into `target`; the number of word indices, of texts.

    source: the content of source.json. Raises `UserError` for an empty split or a label that is no class.
    """
    where = f"datasets.{source['dataset']}"
    options = source["parameters"]
    placed = _Placed(raw, options.get("held_out"), where)
    rows: _Numbers | _Words = (
        _Numbers(raw, where) if raw.kind == ARRAYS else _Words(raw, options, placed)
    )
    inputs, labels = (
        {
            split: create(target / f"{split}_{role}.npy", (placed.examples[split], *each), kind)
            for split in SPLITS
        }
        for role, each, kind in (("inputs", rows.shape, rows.dtype), ("labels", (), np.int32))
    )
    for split, places, chunk, classes in placed.chunks():
        if classes.min() < 0 or classes.max() >= len(raw.class_names):
            raise UserError(
                f"{where}: the {split} split has a label that is none of the {len(raw.class_names)} "
                "classes; name a split with labels"
            )
        inputs[split][places] = rows.of(chunk)
        labels[split][places] = classes
    for array in (*inputs.values(), *labels.values()):
        array.flush()
    return rows.vocabulary


class _Numbers:
    """Inputs that are stored as they are."""

    def __init__(self, raw: Raw, where: str) -> None:
        self.shape, self.dtype, self.vocabulary = raw.shape, raw.dtype, raw.vocabulary
        self._where = where

    def of(self, chunk: np.ndarray) -> np.ndarray:
        """The rows to store; `UserError` for an index beyond the vocabulary."""
        if self.vocabulary and not 0 <= chunk.min() <= chunk.max() < self.vocabulary:
            raise UserError(
                f"{self._where}.vocabulary: there is a word {chunk.max()}, or one below 0; "
                "indices run from 0 to vocabulary - 1"
            )
        return chunk


class _Words:
    """Texts, and sequences of word indices, as rows of one length."""

    dtype = np.int32

    def __init__(self, raw: Raw, options: dict, placed: "_Placed") -> None:
        self.shape = (options.get("length", LENGTH),)
        self._known = None
        self._highest = 0
        if raw.kind == TEXTS:
            self._known = Vocabulary(placed.training_inputs(), options.get("words", WORDS))

    def of(self, chunk: Any) -> np.ndarray:
        """The rows to store."""
        encoded = [self._known.encode(text) for text in chunk] if self._known else chunk
        # Before cutting: a word that is cut off belongs to the vocabulary, too.
        self._highest = max(self._highest, *(int(max(text, default=0)) for text in encoded))
        return pad(encoded, *self.shape)

    @property
    def vocabulary(self) -> int:
        """The number of word indices; of sequences valid when all rows were asked for."""
        return self._known.size if self._known else self._highest + 1


class _Placed:
    """The chunks of a data set with the rows that they are written to."""

    def __init__(self, raw: Raw, held_out: float | None, where: str) -> None:
        if (WHOLE in raw.streams) != (held_out is not None):
            raise UserError(
                f"{where}.held_out: there is a test split; leave it out"
                if held_out is not None
                else f"{where}.held_out: there is no test split; say which part to hold out, 0.2 say"
            )
        self._raw, self._where = raw, where
        if held_out is None:
            self._places = None
            self.examples = {split: raw.streams[split].examples for split in SPLITS}
        else:
            count = raw.streams[WHOLE].examples
            self._places = splits.hold_out(count, held_out, raw.rank)
            self.examples = {"train": self._places.train, "test": count - self._places.train}
        for split, count in self.examples.items():
            if not count:
                raise UserError(f"{where}: no example is left for the {split} split")

    def chunks(self) -> Iterator[tuple[str, Any, Any, np.ndarray]]:
        """Split, rows of its arrays, inputs and labels, over one pass."""
        for name, stream in self._raw.streams.items():
            start = 0
            for inputs, labels in stream.chunks():
                end = start + len(labels)
                if end > stream.examples or len(inputs) != len(labels):
                    raise self._unlike(name, end, len(inputs) - len(labels))
                if not len(labels):
                    continue
                if self._places is None:
                    yield name, slice(start, end), inputs, labels
                else:
                    yield from self._parts(self._places, start, inputs, labels)
                start = end
            if start != stream.examples:
                raise self._unlike(name, start, 0)

    def _unlike(self, name: str, count: int, more: int) -> UserError:
        announced = self._raw.streams[name].examples
        says = f"{more} more inputs than labels" if more else f"{count} or more examples"
        return UserError(
            f"{self._where}: its form reads {says} of {name!r}, and announced {announced}; correct the form"
        )

    def _parts(
        self, places: splits.Places, start: int, inputs: Any, labels: np.ndarray
    ) -> Iterator:
        position = places.position[start : start + len(labels)]
        for split, chosen, first in (
            ("train", position < places.train, 0),
            ("test", position >= places.train, places.train),
        ):
            if chosen.any():
                some = inputs[chosen] if isinstance(inputs, np.ndarray) else _of(inputs, chosen)
                yield split, position[chosen] - first, some, labels[chosen]

    def training_inputs(self) -> Iterator[Any]:
        """The inputs of the training split, one by one."""
        for split, _, inputs, _ in self.chunks():
            if split == "train":
                yield from inputs


def _of(inputs: Any, chosen: np.ndarray) -> list:
    return [one for one, taken in zip(inputs, chosen, strict=True) if taken]
