"""The summary of a serialized data set: part of its manifest, printed by `serialize`.

It is made from the arrays, and from what the form noticed.
"""

import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from paragone.base.errors import UserError
from paragone.config.datasets import SPLITS
from paragone.data.forms import TEXTS, Raw
from paragone.data.numeric import MISSING, odd_numbers
from paragone.data.words import START, UNKNOWN

ROWS = 5000  # read at a time
MOST_ODD = 6  # notices on columns
FEW = 5  # training examples of a class, below which there is a notice
MOST_SHOWN = 24  # classes that are listed of a data set with more


class DataSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counts, values and oddities of a serialized data set.

    `examples`: split -> number of each class, in the order of `classes`. `shape`: of one example as stored,
    channels last. `values`: lowest and highest over both splits; None for words. `vocabulary`: number of word
    indices; None for numbers. `unknown`: split -> share of its words that are outside of the vocabulary;
    empty for what was no text. `treated`: what was skipped or converted, in words, and how often.
    `notices`: sentences on what is legal and odd. `targets`: lowest and highest of labels that are numbers,
    which have no classes.
    """

    classes: list[str]
    examples: dict[str, list[int]]
    shape: list[int]
    dtype: str
    values: tuple[float, float] | None
    vocabulary: int | None
    unknown: dict[str, float]
    treated: dict[str, int]
    notices: list[str]
    targets: tuple[float, float] | None = None

    @property
    def what(self) -> str:
        """Return what is learned from what."""
        learned = f"{len(self.classes):,} classes"
        if self.targets:
            learned = f"targets {self.targets[0]:g} to {self.targets[1]:g}"
        content = f"{self.vocabulary or 0:,} word indices"
        if self.values:
            content = f"values {self.values[0]:g} to {self.values[1]:g}"
        return f"{learned}, each {' x '.join(map(str, self.shape))} {self.dtype}, {content}"

    @property
    def rows(self) -> list[tuple[str, int, int]]:
        """Return name, training examples and test examples of each class that is listed."""
        return [*zip(self.classes, *self.examples.values(), strict=False)][:MOST_SHOWN]

    @property
    def facts(self) -> list[str]:
        """Return what else a person should see: shares of unknown words, what was skipped or converted."""
        more = len(self.classes) - MOST_SHOWN
        return [
            *([f"{more:,} more classes are not listed"] if more > 0 else []),
            *(
                f"{share:.0%} of the words of the {split} split are unknown"
                for split, share in self.unknown.items()
            ),
            *(f"{count:,} {treatment}" for treatment, count in self.treated.items()),
        ]


def summarize(
    folder: Path, raw: Raw, vocabulary: int | None, window: int | None, several: bool
) -> DataSummary:
    """Return the summary of the four arrays in `folder`, which were made from `raw`.

    window: of a stream, the length of an example; its counts are those of tokens. several: labels are 0 or 1
    for each class. Raises `UserError` for fewer than two classes with training examples, and for targets that
    are all equal.
    """
    inputs, labels = (
        {split: np.load(folder / f"{split}_{role}.npy", mmap_mode="r") for split in SPLITS}
        for role in ("inputs", "labels")
    )
    classes, source = raw.class_names, raw.labels_from or "the labels"
    examples = {split: _counts(part, len(classes), several) for split, part in labels.items()}
    present = [name for name, count in zip(classes, examples["train"], strict=False) if count]
    if classes and len(present) < 2:
        raise UserError(
            f"{source}: only the class {', '.join(present)} has training examples; a classifier needs two or "
            "more"
        )
    if not any(examples["test"]):
        raise UserError(f"{source}: no test example has a class to predict")
    for split, part in {} if classes else labels.items():
        if (part == part[0]).all(axis=0).any():
            raise UserError(
                f"{source}: a target has the same value in all examples of the {split} split; leave it out"
                f"{''.join(f' ({change})' for change in raw.conversions['labels'].changes)}"
            )
    treated, notices = raw.treated.copy(), [*raw.notices]
    changed = "inputs" in raw.conversions and raw.conversions["inputs"].changes
    ignored = sum(int((part < 0).sum()) for part in labels.values()) if classes else 0
    treated["labels that are ignored"] += ignored
    values = None if vocabulary is not None else _range(inputs)
    unknown = {}
    if raw.kind == TEXTS:
        unknown = {split: _unknown(part) for split, part in inputs.items()}
        for part in inputs.values():
            cut = int((part[:, 0] > START).sum())
            treated["texts longer than `length`, which lose their beginning"] += cut
            treated["texts without a word"] += int((part[:, -1] == START).sum())
        if unknown["test"] > 0.5:
            notices.append(
                f"{unknown['test']:.0%} of the words of the test split are unknown: raise `words`, or give "
                "more training examples"
            )
    elif values and values[0] == values[1] and not changed:
        notices.append(f"all inputs are {values[0]:g}")
    elif values and inputs["train"].dtype == np.uint8 and values[1] <= 1:
        notices.append("the inputs are bytes of 0 and 1: as images they are black")
    if window is None:
        if classes and labels["train"].ndim == 1:
            notices += _odd(classes, examples, labels)
        if not changed:  # what are equal now may have been different
            notices += _shared(inputs)
        notices += _no_classes(classes)
        for role, conversion in raw.conversions.items():
            numbers = {"inputs": inputs if values else {}, "labels": labels}[role]
            notices += conversion.changes
            notices += islice(odd_numbers(numbers, conversion), MOST_ODD) if numbers else []
    return DataSummary(
        classes=list(classes),
        examples=examples,
        shape=[window] if window else list(inputs["train"].shape[1:]),
        dtype=str(inputs["train"].dtype),
        values=values,
        vocabulary=vocabulary,
        unknown=unknown,
        treated={reason: count for reason, count in treated.items() if count},
        notices=notices,
        targets=None if classes else _range(labels),
    )


def _counts(labels: np.ndarray, classes: int, several: bool) -> list[int]:
    if several:
        return labels.sum(0).tolist()
    if not classes:
        return [len(labels)]
    return np.bincount(labels[labels >= 0], minlength=classes).tolist()


def _parts(array: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(array), ROWS):
        yield array[start : start + ROWS]


def _range(arrays: dict[str, np.ndarray]) -> tuple[float, float]:
    ends = [float(pick(array)) for array in arrays.values() for pick in (np.min, np.max)]
    return min(ends), max(ends)


def _unknown(rows: np.ndarray) -> float:
    total = sum(int((part > START).sum()) for part in _parts(rows))
    unknown = sum(int((part == UNKNOWN).sum()) for part in _parts(rows))
    return unknown / total if total else 0.0


def _odd(
    classes: tuple[str, ...], examples: dict[str, list[int]], labels: dict[str, np.ndarray]
) -> Iterator[str]:
    train, test = (np.array(examples[split]) for split in SPLITS)
    for lacking, present, split in ((test, train, "test"), (train, test, "training")):
        if names := [classes[at] for at in np.flatnonzero((lacking == 0) & (present > 0))]:
            yield f"{_listed(names)}: no {split} example"
    if names := [classes[at] for at in np.flatnonzero((train > 0) & (train < FEW))]:
        yield f"{_listed(names)}: fewer than {FEW} training examples"
    if 2 * len(classes) > train.sum():
        yield (
            f"there are {len(classes):,} classes for {train.sum():,} training examples: are the labels "
            "classes?"
        )
    alike: dict[str | Decimal, list[str]] = {}
    for name in classes:
        plain: Any = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        with suppress(InvalidOperation):
            plain = Decimal(plain) if name.strip()[-1:] in "0123456789." else plain
        alike.setdefault(plain, []).append(name)
    for names in alike.values():
        if len(names) > 1:
            shown = ", ".join(f"{name!r} ({train[classes.index(name)]:,})" for name in names[:5])
            yield f"{shown}: classes whose names differ by blanks, case or the form of a number alone"
    if (np.diff(labels["train"]) >= 0).all():
        yield (
            "the training rows are sorted by class: with `train_examples`, a workload sees the first classes "
            "alone"
        )


def _no_classes(classes: tuple[str, ...]) -> list[str]:
    """Return a notice on a class whose name seems to mean that there is none: below 0, NaN, or of nines."""
    for name in classes:
        with suppress(ValueError):
            number = float(name)
            if not number >= 0 or (number in MISSING and f"{number - 1:g}" not in classes):
                why = f"label {name} is a class; if it means that there is none, leave it out"
                return [f"{why}, or name it as `ignored` of arrays"]
    return []


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(repr(name) for name in names[:5]) + more


def _shared(inputs: dict[str, np.ndarray]) -> Iterator[str]:
    train, test = (
        np.fromiter(
            (hash(row.tobytes()) for part in _parts(inputs[split]) for row in part), np.int64
        )
        for split in SPLITS
    )
    if repeated := int(np.isin(test, train).sum()):
        yield f"{repeated:,} of the {len(test):,} test examples are training examples, too"
