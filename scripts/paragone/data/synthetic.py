"""Synthetic stand-ins of data sets: same shapes, types and classes, drawn from NumPy's Philox.

The classes can be learned, but not perfectly: a share of the labels is wrong and classes blend, so that no
synthetic accuracy looks like a solved problem.
"""

from pathlib import Path
from typing import Any

import numpy as np

from paragone.base.errors import UserError
from paragone.config.datasets import SPLITS, STREAM
from paragone.data.forms import ARRAYS, Raw, rows_at_a_time
from paragone.data.store import new_array
from paragone.data.words import FIRST_WORD

# Part of the recipe: other values make other data.
PARAMETERS = {"key": 20_202, "wrong_labels": 0.05}
MARKED = 0.35  # share of the words of a text that are ranked in an order of its class


def parameters(dataset: str, block: dict) -> dict[str, Any]:
    """Return the parameters of a data set's stand-in.

    Its shapes come from the block's `size`, `length` and `classes`, else from its `stand_in`. Raises
    `UserError` if neither says.
    """
    shapes = {"vocabulary": None, "dtype": "uint8", **block.get("stand_in", {})}
    if "classes" in block:
        shapes["classes"] = block["classes"]
    if "size" in block:
        shapes["shape"] = [block["size"], block["size"], block.get("channels", 3)]
    if "length" in block:
        shapes["shape"] = [block["length"]]
    if any(key in block for key in ("targets", "indicators", "ignored")):
        raise UserError(
            f"no stand-in of {dataset} can be made: its labels are numbers, or several or none "
            "for an example; make the data available"
        )
    if missing := [key for key in ("shape", "classes", "examples") if key not in shapes]:
        raise UserError(
            f"no stand-in of {dataset} can be made: its {', '.join(missing)} are not known; make the data "
            f"available, or state them under datasets.{dataset}.stand_in"
        )
    if isinstance(shapes["classes"], int):
        shapes["classes"] = [str(number) for number in range(shapes["classes"])]
    if block["form"] == STREAM:
        return {**shapes, **PARAMETERS, "window": block["length"], "shape": [], "wrong_labels": 0.0}
    return {**shapes, **PARAMETERS}


def write(source: dict, target: Path) -> Raw:
    """Write the four arrays of the stand-in that `source`, the content of source.json, describes.

    Returns what the manifest says of them, without streams.
    """
    options = source["parameters"]
    count, draw = len(options["classes"]), _kind(options)(options)
    for number, split in enumerate(SPLITS, start=1):
        examples, random = options["examples"][split], _random(options["key"], number)
        classes = draw.classes(random, examples)
        inputs = new_array(target / f"{split}_inputs.npy", (examples, *draw.shape), draw.dtype)
        rows = rows_at_a_time(draw.shape, draw.dtype)
        for start in range(0, examples, rows):
            inputs[start : start + rows] = draw.inputs(random, classes[start : start + rows])
        inputs.flush()
        wrong = random.random(examples) < options["wrong_labels"]
        shifted = (classes + random.integers(1, count, size=examples)) % count
        labels = np.where(wrong, shifted, classes)
        np.save(target / f"{split}_labels.npy", labels.astype(np.int32))
    return Raw(
        kind=STREAM if "window" in options else ARRAYS,
        streams={},
        class_names=tuple(options["classes"]),
        made_by=f"numpy {np.__version__} Philox",
        vocabulary=options["vocabulary"],
    )


def _random(key: int, stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=np.array([key, stream], np.uint64)))


def _zipf(ranks: int) -> np.ndarray:
    chances = 1 / np.arange(1, ranks + 1)
    return chances / chances.sum()


class _Numbers:
    """A point per class, blended with another's, under noise of the same size."""

    def __init__(self, options: dict) -> None:
        self.count, self.shape = len(options["classes"]), tuple(options["shape"])
        self.dtype = np.dtype(options["dtype"])
        self.prepare(_random(options["key"], 0), options)

    def prepare(self, random: np.random.Generator, options: dict) -> None:
        """Draw what all examples have in common."""
        self.points = random.normal(size=(self.count, *self.shape)).astype(np.float32)

    def classes(self, random: np.random.Generator, examples: int) -> np.ndarray:
        """Draw the class of each example."""
        return random.integers(self.count, size=examples)

    def inputs(self, random: np.random.Generator, classes: np.ndarray) -> np.ndarray:
        """Draw an example of each of these classes."""
        share = random.uniform(0, 0.45, (len(classes), *[1] * len(self.shape))).astype(np.float32)
        second = random.integers(self.count, size=len(classes))
        blended = (1 - share) * self.points[classes] + share * self.points[second]
        values = blended + random.standard_normal(blended.shape, np.float32)
        if self.dtype == np.uint8:
            values = np.clip(128 + 32 * values, 0, 255)
        return values.astype(self.dtype)


class _Images(_Numbers):
    """A smooth prototype per class, of four waves in each direction."""

    def prepare(self, random: np.random.Generator, options: dict) -> None:
        down, right = (
            np.cos(np.arange(1, 5)[:, None] * np.linspace(0, np.pi, side)[None, :])
            for side in self.shape[:2]
        )
        weights = random.normal(size=(self.count, self.shape[2], 4, 4))
        self.points = np.einsum("kcuv,uy,vx->kyxc", weights, down, right).astype(np.float32) / 2


class _Texts(_Numbers):
    """Zipf-distributed words, a share of them ranked in an order of their class."""

    def prepare(self, random: np.random.Generator, options: dict) -> None:
        self.dtype = np.dtype(np.int32)
        count = options["vocabulary"] - FIRST_WORD
        self.cumulated = np.cumsum(1 / np.arange(1, count + 1))
        self.cumulated /= self.cumulated[-1]
        self.orders = np.stack([random.permutation(count) for _ in range(self.count)])

    def classes(self, random: np.random.Generator, examples: int) -> np.ndarray:
        # Topics of newswires are as uneven as words.
        return random.choice(self.count, p=_zipf(self.count), size=examples)

    def inputs(self, random: np.random.Generator, classes: np.ndarray) -> np.ndarray:
        length = self.shape[0]
        ranks = np.searchsorted(self.cumulated, random.random((len(classes), length)))
        marked = random.random(ranks.shape) < MARKED
        texts = np.where(marked, self.orders[classes[:, None], ranks], ranks) + FIRST_WORD
        # Padding in front, then the start mark, as Keras' pad_sequences leaves them.
        padding = length - np.clip(random.lognormal(4.7, 0.8, len(classes)), 10, length).astype(int)
        position = np.arange(length)
        texts[position < padding[:, None]] = 0
        texts[position == padding[:, None]] = 1
        return texts


class _Tokens(_Numbers):
    """A Markov chain: after each token the others are ranked, and Zipf's law chooses one of the ranks."""

    def prepare(self, random: np.random.Generator, options: dict) -> None:
        self.dtype = np.dtype(np.int32)
        self.following = [random.permutation(self.count).tolist() for _ in range(self.count)]

    def classes(self, random: np.random.Generator, examples: int) -> np.ndarray:
        token, tokens = 0, []
        for rank in random.choice(self.count, p=_zipf(self.count), size=examples).tolist():
            token = self.following[token][rank]
            tokens.append(token)
        return np.array(tokens)

    def inputs(self, random: np.random.Generator, classes: np.ndarray) -> np.ndarray:
        return classes


def _kind(options: dict) -> type[_Numbers]:
    if "window" in options:
        return _Tokens
    if options["vocabulary"] is not None:
        return _Texts
    return _Images if options["dtype"] == "uint8" and len(options["shape"]) == 3 else _Numbers
