"""Serialize one data set into the store as four plain arrays, unless they are there already.

Arrays are written chunk by chunk, so that memory does not grow with the data.
"""

import math
import shutil
import sys
from collections.abc import Iterator
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from paragone.base.atomic_files import sha256, write_json
from paragone.base.errors import UserError
from paragone.config.datasets import SPLITS, STREAM, checksums, local_files
from paragone.data import forms, store, synthetic
from paragone.data.forms import ARRAYS, TEXTS, WHOLE, WORDS, Raw
from paragone.data.summary import summarize
from paragone.data.words import Vocabulary, pad

LENGTH, MOST_WORDS = 300, 20_000  # of texts, unless the block says otherwise


def serialize(source: dict, folder: Path) -> Path:
    """Return the manifest in the store of the arrays made from `source`, the content of source.json.

    folder: the store. Nothing is read, decoded or imported when the arrays are there and undamaged. Raises
    `UserError` when a raw file is gone or has changed since it was checked.
    """
    dataset = source["dataset"]
    files = checksums(source["files"])
    recipe = store.recipe(dataset, source["edition"], files, source["parameters"])
    target = store.arrays_folder(folder, recipe)
    if not store.complete(target, checked=True):
        with store.lock(folder, dataset):
            # Another process may have built it while this one waited.
            if not store.complete(target, checked=True):
                if target.exists():
                    print(f"{target} is damaged and is made anew", file=sys.stderr)
                    shutil.rmtree(target)  # the form must not take it for the folder being built
                _build(source, recipe, folder, target)
    return target / "manifest.json"


def _build(source: dict, recipe: dict, folder: Path, target: Path) -> None:
    real, parameters = source["source"] == "real", source["parameters"]
    with store.building(target) as partial:
        if real:
            raw, vocabulary = _from_files(source, folder, partial)
        else:
            raw = synthetic.write(source, partial)
            vocabulary = raw.vocabulary
        window = parameters["length" if real else "window"] if raw.kind == STREAM else None
        summary = summarize(partial, raw, vocabulary, window, "indicators" in parameters)
        manifest = {
            "dataset": source["dataset"],
            "source": source["source"],
            "edition": source["edition"],
            "folder": target.relative_to(folder).as_posix(),
            "class_names": list(raw.class_names),
            "vocabulary": vocabulary,
            **({"window": window} if window else {}),
            "arrays": {
                f"{split}_{role}": _describe(partial / f"{split}_{role}.npy")
                for split in SPLITS
                for role in ("inputs", "labels")
            },
            "licence": "not stated" if real else "none, generated",
            **raw.details,
            **source["about"],
            "made_by": raw.made_by,
            "summary": msgspec.to_builtins(summary),
            "recipe": recipe,
        }
        write_json(manifest, partial / "manifest.json", indent=2)


def _from_files(source: dict, folder: Path, partial: Path) -> tuple[Raw, int | None]:
    for file in source["files"]:
        if file["path"] is None or not Path(file["path"]).exists():
            where = file["path"] or f"{file['name']} of {source['dataset']}"
            raise UserError(
                f"{where} is gone since it was fetched: delete source.json of "
                f"{source['dataset']} and run again, so that it is fetched anew"
            )
    path = source["path"]  # None for builders, which check their files as they read them
    if path is not None and checksums(local_files(path)) != checksums(source["files"]):
        raise UserError(f"{source['dataset']} changed after its check; run again")
    scratch, permanent = partial / "scratch", folder / source["parameters"]["form"]
    store.check_owner(permanent, folder)
    scratch.mkdir()
    raw = forms.read(source, scratch, permanent)
    vocabulary = _write(raw, source, partial)
    shutil.rmtree(scratch)
    return raw, vocabulary


def _describe(path: Path) -> dict:
    array = np.load(path, mmap_mode="r")
    return {
        "file": path.name,
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "bytes": path.stat().st_size,
        "sha256": sha256(path),
    }


def _write(raw: Raw, source: dict, target: Path) -> int | None:
    """Write <split>_inputs.npy and <split>_labels.npy into `target`.

    Returns the number of word indices, None for what has none. Raises `UserError` for an empty split, a label
    that is no class, and numbers that are none.
    """
    where, options = f"datasets.{source['dataset']}", source["parameters"]
    splits = _Splits(raw, options.get("held_out"), where)
    shape, dtype, highest, vocabulary = raw.shape, raw.dtype, 0, None
    if raw.kind in (TEXTS, WORDS):
        shape, dtype = (options.get("length", LENGTH),), np.int32
    if raw.kind == TEXTS:
        parts = (part for split, _, part, _ in splits.chunks() if split == "train")
        training = (text for part in parts for text in part)
        vocabulary = Vocabulary(training, options.get("words", MOST_WORDS))
    label_dtype = np.int32 if raw.class_names else np.float32
    inputs, labels = {}, {}
    for split, count in splits.examples.items():
        path = target / f"{split}_inputs.npy"
        inputs[split] = store.new_array(path, (count, *shape), dtype)
        path = target / f"{split}_labels.npy"
        labels[split] = store.new_array(path, (count, *raw.label_shape), label_dtype)
    lowest = -1 if "ignored" in options else 0
    for split, rows, chunk, classes in splits.chunks():
        if raw.class_names and not lowest <= classes.min() <= classes.max() < len(raw.class_names):
            raise UserError(
                f"{where}: the {split} split has a label that is none of the {len(raw.class_names)} "
                "classes; name a split with labels"
            )
        labels[split][rows] = classes
        if raw.kind in (TEXTS, WORDS):
            encoded = [vocabulary.encode(text) for text in chunk] if vocabulary else chunk
            # Before cutting: a word that is cut off belongs to the vocabulary, too.
            highest = max(highest, *(int(max(text, default=0)) for text in encoded))
            inputs[split][rows] = pad(encoded, *shape)
        elif raw.vocabulary and not 0 <= chunk.min() <= chunk.max() < raw.vocabulary:
            raise UserError(
                f"{where}.vocabulary: there is a word {chunk.max()}, or one below 0; indices run from 0 to "
                "vocabulary - 1"
            )
        else:
            inputs[split][rows] = chunk
    for array in (*inputs.values(), *labels.values()):
        array.flush()
    if raw.kind == WORDS:
        return highest + 1
    return vocabulary.size if vocabulary else raw.vocabulary


def _check_numbers(name: str, kind: str, start: int, inputs: Any) -> None:
    """Raise `UserError` naming the row for a number that is not finite, or for an index below 0.

    name: what the inputs are read from. start: the row of the first of `inputs`, from 0 on.
    """
    if kind == WORDS:
        lowest = [min(row, default=0) for row in inputs]
        if min(lowest, default=0) < 0:
            at = int(np.argmin(lowest))
            raise UserError(
                f"{name}: row {start + at} has the word index {lowest[at]}; indices are 0, which pads, and "
                "above; replace it, or name an input that holds words"
            )
    elif kind == ARRAYS and inputs.dtype.kind == "f" and not np.isfinite(inputs).all():
        at = np.argwhere(~np.isfinite(inputs))[0]
        raise UserError(
            f"{name}: row {start + at[0]} has the value {inputs[tuple(at)]} as float32, which is not finite; "
            "replace it, or leave the row out"
        )


class _Splits:
    """The chunks of a data set, each with the rows of the arrays that it belongs to."""

    def __init__(self, raw: Raw, held_out: float | None, where: str) -> None:
        if (WHOLE in raw.streams) != (held_out is not None):
            raise UserError(
                f"{where}.held_out: there is a test split; leave it out"
                if held_out is not None
                else f"{where}.held_out: there is no test split; say which part to hold out, 0.2 say"
            )
        self._raw, self._where = raw, where
        if held_out is None:
            self._position: np.ndarray | None = None
            self.examples = {split: raw.streams[split].examples for split in SPLITS}
        else:
            count = raw.streams[WHOLE].examples
            # The training rows come first; of a stream its end is held out.
            stream = raw.kind == STREAM
            self._position = np.arange(count) if stream else forms.positions(count, raw.rank)
            test = math.ceil(count * held_out - 1e-9)
            self.examples = {"train": count - test, "test": test}
        for split, count in self.examples.items():
            if not count:
                raise UserError(f"{where}: no example is left for the {split} split")

    def chunks(self) -> Iterator[tuple[str, Any, Any, np.ndarray]]:
        """Yield split, rows of its arrays, inputs and labels, in one pass over the data."""
        for name, stream in self._raw.streams.items():
            title = stream.title or f"{self._where}, {name}"
            end = 0
            for inputs, labels in stream.chunks():
                start, end = end, end + len(labels)
                if end > stream.examples or len(inputs) != len(labels):
                    end = -1
                    break
                if conversion := self._raw.conversions.get("inputs"):
                    inputs = conversion.of(inputs)
                if conversion := self._raw.conversions.get("labels"):
                    labels = conversion.of(labels)
                _check_numbers(title, self._raw.kind, start, inputs)
                _check_numbers(self._raw.labels_from, ARRAYS, start, labels)
                if self._position is None:
                    yield name, slice(start, end), inputs, labels
                else:
                    yield from self._parts(self._position[start:end], inputs, labels)
            if end != stream.examples:
                raise UserError(
                    f"{self._where}: its form announced {stream.examples} examples of {name!r}, and reads "
                    "more, fewer, or unlike numbers of inputs and labels; correct the form"
                )

    def _parts(
        self, position: np.ndarray, inputs: Any, labels: np.ndarray
    ) -> Iterator[tuple[str, Any, Any, np.ndarray]]:
        train = self.examples["train"]
        test = position >= train
        for split, chosen, first in (("train", ~test, 0), ("test", test, train)):
            if chosen.any():
                whole = isinstance(inputs, np.ndarray)
                part = inputs[chosen] if whole else list(compress(inputs, chosen))
                yield split, position[chosen] - first, part, labels[chosen]
