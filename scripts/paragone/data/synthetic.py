"""Stand-ins of the three data sets: same shapes, types and classes, drawn from NumPy's Philox.

The classes can be learned, but not perfectly: a share of the labels is wrong and classes blend, so
that no synthetic accuracy looks like a solved problem.
"""

from pathlib import Path

import numpy as np

from paragone.data.arrays import create
from paragone.data.catalogue import entry

# Part of the recipe: other values make other data.
PARAMETERS = {"key": 20_201, "wrong_labels": 0.05}
CHUNK = 2_000
VOCABULARY = 30_982
FIRST_WORD = 3  # 0 pads, 1 starts a text, 2 stands for an unknown word


def generate(dataset: str, parameters: dict, target: Path) -> dict:
    """Write the four arrays of the stand-in for `dataset` into the folder `target`."""
    facts = entry(dataset)
    draw: _Images | _Texts
    if facts.inputs == "images":
        size, channels = (28, 1) if dataset == "fashion_mnist" else (parameters["image_size"], 3)
        draw = _Images(len(facts.class_names), size, channels, parameters["key"])
    else:
        draw = _Texts(len(facts.class_names), parameters["sequence_length"], parameters["key"])
    for stream, (split, examples) in enumerate(
        zip(("train", "test"), facts.examples, strict=True), start=1
    ):
        random = _random(parameters["key"], stream)
        classes = draw.classes(random, examples)
        path = target / f"{split}_{facts.inputs}.npy"
        inputs = create(path, (examples, *draw.shape), draw.dtype)
        for start in range(0, examples, CHUNK):
            inputs[start : start + CHUNK] = draw.inputs(random, classes[start : start + CHUNK])
        inputs.flush()
        wrong = random.random(examples) < parameters["wrong_labels"]
        count = len(facts.class_names)
        others = (classes + random.integers(1, count, size=examples)) % count
        labels = np.where(wrong, others, classes)
        np.save(target / f"{split}_labels.npy", labels.astype(np.int32))
    vocabulary = VOCABULARY if facts.inputs == "sequences" else None
    return {"vocabulary": vocabulary, "made_by": f"numpy {np.__version__} Philox"}


def _random(key: int, stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=np.array([key, stream], np.uint64)))


class _Images:
    """A smooth prototype per class, blended with another's, shifted, dimmed, under noise."""

    dtype = np.uint8

    def __init__(self, classes: int, size: int, channels: int, key: int) -> None:
        self.count = classes
        self.shape = (size, size, channels)
        random = _random(key, 0)
        # Four waves per direction make shapes that survive a shift of a seventh of the image.
        x = np.linspace(0, np.pi, size)
        waves = np.cos(np.arange(1, 5)[:, None] * x[None, :])
        weights = random.normal(size=(classes, channels, 4, 4))
        smooth = np.einsum("kcuv,uy,vx->kyxc", weights, waves, waves)
        self.prototypes = (1 / (1 + np.exp(-1.5 * smooth))).astype(np.float32)

    def classes(self, random: np.random.Generator, examples: int) -> np.ndarray:
        return random.integers(self.count, size=examples)

    def inputs(self, random: np.random.Generator, classes: np.ndarray) -> np.ndarray:
        size = self.shape[0]
        reach = max(1, size // 14)
        images = np.empty((len(classes), *self.shape), np.uint8)
        shifts = random.integers(-reach, reach + 1, size=(len(classes), 2))
        light = random.integers(96, 176, size=len(classes), dtype=np.uint8)
        others = random.integers(self.count, size=len(classes))
        blend = random.uniform(0, 0.45, size=len(classes))
        for index, (kind, other, share) in enumerate(zip(classes, others, blend, strict=True)):
            blended = (1 - share) * self.prototypes[kind] + share * self.prototypes[other]
            images[index] = np.roll(blended, shifts[index], axis=(0, 1)) * light[index]
        images += random.integers(80, size=images.shape, dtype=np.uint8)
        return images


class _Texts:
    """Zipf-distributed words, a share of them drawn from the class's own order of the words."""

    dtype = np.int32
    own_share = 0.35

    def __init__(self, classes: int, length: int, key: int) -> None:
        self.count = classes
        self.shape = (length,)
        random = _random(key, 0)
        words = VOCABULARY - FIRST_WORD
        self.cumulated = np.cumsum(1 / np.arange(1, words + 1))
        self.cumulated /= self.cumulated[-1]
        self.own = np.stack([random.permutation(words) for _ in range(classes)])
        # Topics of newswires are as uneven as words.
        self.frequencies = 1 / np.arange(1, classes + 1)
        self.frequencies /= self.frequencies.sum()

    def classes(self, random: np.random.Generator, examples: int) -> np.ndarray:
        return random.choice(self.count, p=self.frequencies, size=examples)

    def inputs(self, random: np.random.Generator, classes: np.ndarray) -> np.ndarray:
        length = self.shape[0]
        ranks = np.searchsorted(self.cumulated, random.random((len(classes), length)))
        own = random.random(ranks.shape) < self.own_share
        texts = np.where(own, self.own[classes[:, None], ranks], ranks) + FIRST_WORD
        # Padding in front, then the start mark, as Keras' pad_sequences leaves them.
        padding = length - np.clip(random.lognormal(4.7, 0.8, len(classes)), 10, length).astype(int)
        position = np.arange(length)
        texts[position < padding[:, None]] = 0
        texts[position == padding[:, None]] = 1
        return texts
