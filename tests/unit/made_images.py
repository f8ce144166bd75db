"""A data set of a few made-up images, for engines that are driven without a file."""

import numpy as np

from paragone.data import Dataset


def make_images(train: int = 64, test: int = 64, side: int = 28) -> Dataset:
    """Random images of one channel and random labels of ten classes."""
    random = np.random.default_rng(0)

    def split(examples: int) -> tuple[np.ndarray, np.ndarray]:
        images = random.integers(0, 256, (examples, side, side, 1), np.uint8)
        return images, random.integers(0, 10, examples, np.int32)

    names = tuple("abcdefghij")
    return Dataset("d", "real", "e", *split(train), *split(test), names, None, "0" * 64)


def make_texts(train: int = 64, test: int = 64, length: int = 60) -> Dataset:
    """Random texts of a hundred words and random labels of ten classes."""
    random = np.random.default_rng(0)

    def split(examples: int) -> tuple[np.ndarray, np.ndarray]:
        words = random.integers(0, 100, (examples, length), np.int32)
        return words, random.integers(0, 10, examples, np.int32)

    names = tuple("abcdefghij")
    return Dataset("d", "real", "e", *split(train), *split(test), names, 100, "0" * 64)
