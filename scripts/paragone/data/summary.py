"""The summary of a serialized data set, made from its arrays and from what its form saw."""

import base64
import io
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from paragone.base.errors import UserError
from paragone.config.datasets import SPLITS
from paragone.data import drawable
from paragone.data.words import START, UNKNOWN
from paragone.records.data_summary import MOST_SHOWN, Summary

SIDE = 40  # pixels of a thumbnail
ROWS = 5000  # read at a time
FEW = 5  # training examples of a class, below which there is a notice


def summarize(
    folder: Path,
    classes: list[str],
    vocabulary: int | None,
    *,
    window: int | None = None,
    several: bool = False,
    labels_from: str = "",
    treated: dict[str, int] | None = None,
    notices: list[str] | None = None,
    texts: dict[str, str] | None = None,
) -> Summary:
    """The summary of the four arrays in `folder`.

    window: of a stream, the length of an example; its counts are those of tokens.
    several: labels are 0 or 1 for each class.
    labels_from: what the labels were read from, in words. texts: class -> the first of its texts, of arrays
    that were texts. Raises `UserError` for fewer than two classes with training examples, and for numbers
    that are all equal.
    """
    inputs, labels = (
        {split: np.load(folder / f"{split}_{role}.npy", mmap_mode="r") for split in SPLITS}
        for role in ("inputs", "labels")
    )
    examples = {split: _counts(each, len(classes), several) for split, each in labels.items()}
    ignored = {split: int((each < 0).sum()) for split, each in labels.items() if classes}
    targets = None if classes else _checked_range(labels, labels_from)
    present = [name for name, count in zip(classes, examples["train"], strict=False) if count]
    if classes and len(present) < 2:
        raise UserError(
            f"{labels_from or 'the labels'}: only the class {', '.join(present)} has training examples; a "
            "classifier needs two or more"
        )
    if not any(examples["test"]):
        raise UserError(f"{labels_from or 'the labels'}: no test example has a class to predict")
    low, high = _range(inputs)
    counted = {words: count for words, count in (treated or {}).items() if count}
    if any(ignored.values()):
        counted["labels that are ignored"] = sum(ignored.values())
    unknown, more = {}, []
    if texts is not None:
        unknown = {split: _unknown(each) for split, each in inputs.items()}
        for words, rows in (
            ("texts longer than `length`, which lose their beginning", lambda a: a[:, 0] > START),
            ("texts without a word", lambda a: a[:, -1] == START),
        ):
            if found := sum(int(rows(each).sum()) for each in inputs.values()):
                counted[words] = found
        if unknown["test"] > 0.5:
            more.append(
                f"{unknown['test']:.0%} of the words of the test split are unknown: raise `words`, or give "
                "more training examples"
            )
    elif vocabulary is None and low == high:
        more.append(f"all inputs are {low:g}")
    elif vocabulary is None and inputs["train"].dtype == np.uint8 and high <= 1:
        more.append("the inputs are bytes of 0 and 1: as images they are black")
    values = None if vocabulary is not None else (low, high)
    odd: list[str] = []
    samples: dict[str, str] = {}
    if window is None:
        odd = [*_shared(inputs)]
        if classes and labels["train"].ndim == 1:
            odd = [*_odd(classes, examples, labels), *odd]
            samples = _thumbnails(inputs["train"], labels["train"], classes, values)
    return Summary(
        classes=list(classes),
        examples=examples,
        shape=[window] if window else list(inputs["train"].shape[1:]),
        dtype=str(inputs["train"].dtype),
        values=values,
        vocabulary=vocabulary,
        unknown=unknown,
        treated=counted,
        notices=[*(notices or []), *more, *odd],
        samples=texts if texts is not None else samples,
        targets=targets,
        positions=labels["train"][0].size if classes and not several else 1,
        sizes={split: len(each) for split, each in labels.items()}
        if several or any(ignored.values())
        else {},
    )


def _counts(labels: np.ndarray, classes: int, several: bool) -> list[int]:
    """How many labels of a split each class has; the number of examples where there are no classes."""
    if several:
        return labels.sum(0).tolist()
    return (
        np.bincount(labels[labels >= 0], minlength=classes).tolist() if classes else [len(labels)]
    )


def _checked_range(labels: dict[str, np.ndarray], labels_from: str) -> tuple[float, float]:
    """The lowest and the highest of numeric targets. Raises `UserError` where there is nothing to learn."""
    for split, each in labels.items():
        if (each == each[0]).all(axis=0).any():
            raise UserError(
                f"{labels_from}: a target has the same value in all examples of the {split} split; "
                "leave it out"
            )
    return _range(labels)


def _parts(array: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(array), ROWS):
        yield array[start : start + ROWS]


def _range(arrays: dict[str, np.ndarray]) -> tuple[float, float]:
    """The lowest and the highest value of both splits."""
    ends = [float(pick(each)) for each in arrays.values() for pick in (np.min, np.max)]
    return min(ends), max(ends)


def _unknown(rows: np.ndarray) -> float:
    """The share of unknown words in a split."""
    words = sum(int((part > START).sum()) for part in _parts(rows))
    unknown = sum(int((part == UNKNOWN).sum()) for part in _parts(rows))
    return unknown / words if words else 0.0


def _odd(
    classes: list[str], examples: dict[str, list[int]], labels: dict[str, np.ndarray]
) -> Iterator[str]:
    """Notices on classes and labels."""
    train, test = (np.array(examples[split]) for split in SPLITS)
    for lacking, there, split in ((test, train, "test"), (train, test, "training")):
        if names := [classes[at] for at in np.flatnonzero((lacking == 0) & (there > 0))]:
            yield f"{_listed(names)}: no {split} example"
    if names := [classes[at] for at in np.flatnonzero((train > 0) & (train < FEW))]:
        yield f"{_listed(names)}: fewer than {FEW} training examples"
    if 2 * len(classes) > train.sum():
        yield (
            f"there are {len(classes):,} classes for {train.sum():,} training examples: are the labels "
            "classes?"
        )
    alike: dict[str, list[str]] = {}
    for name in classes:
        plain = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        alike.setdefault(plain, []).append(name)
    for names in alike.values():
        if len(names) > 1:
            yield f"{_listed(names)}: classes whose names differ by blanks or case alone"
    if (np.diff(labels["train"]) >= 0).all():
        yield (
            "the training rows are sorted by class: with `train_examples`, a workload sees the first classes "
            "alone"
        )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(repr(name) for name in names[:5]) + more


def _shared(inputs: dict[str, np.ndarray]) -> Iterator[str]:
    """A notice on test examples that are training examples, too."""
    train, test = (
        np.fromiter(
            (hash(row.tobytes()) for part in _parts(inputs[split]) for row in part), np.int64
        )
        for split in SPLITS
    )
    if found := int(np.isin(test, train).sum()):
        yield f"{found:,} of the {len(test):,} test examples are training examples, too"


def _thumbnails(
    inputs: np.ndarray,
    labels: np.ndarray,
    classes: list[str],
    values: tuple[float, float] | None,
) -> dict[str, str]:
    """The first training image of each of the first classes, PNG in base64; none of what are no images."""
    if inputs.ndim != 4 or values is None:
        return {}
    present, first = np.unique(labels, return_index=True)
    samples = {}
    for label, row in zip(present[:MOST_SHOWN], first, strict=False):
        (drawn,) = drawable(inputs[row : row + 1], values)
        image = Image.fromarray(drawn.squeeze(-1) if drawn.shape[-1] == 1 else drawn)
        image.thumbnail((SIDE, SIDE))
        file = io.BytesIO()
        image.save(file, "PNG", optimize=True)
        samples[classes[label]] = base64.b64encode(file.getvalue()).decode()
    return samples
