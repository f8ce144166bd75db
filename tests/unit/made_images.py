"""Data sets of a few made-up examples, for engines that are driven without a file."""

import numpy as np

from paragone.data import Dataset


def make_images(train: int = 64, test: int = 64, side: int = 28) -> Dataset:
    """Random images of one channel and random labels of ten classes."""
    return _made((side, side, 1), 256, np.uint8, None, train, test)


def make_texts(train: int = 64, length: int = 60, vocabulary: int = 100) -> Dataset:
    """Random texts and random labels of ten classes."""
    return _made((length,), vocabulary, np.int32, vocabulary, train, 64)


def number_images(train: int = 100, test: int = 50, side: int = 1) -> Dataset:
    """Images of which each holds its own index, as its label does."""
    indices = np.arange(max(train, test), dtype=np.int32)
    images = indices.astype(np.uint8).reshape(-1, 1, 1, 1) + np.zeros((side, side, 1), np.uint8)
    splits = images[:train], indices[:train], images[:test], indices[:test]
    return Dataset("fashion_mnist", "real", "e", *splits, ("a", "b", "c"), None, "0" * 64)


def _made(shape: tuple, below: int, dtype: type, vocabulary: int | None, *counts: int) -> Dataset:
    random = np.random.default_rng(0)
    arrays = []
    for count in counts:
        arrays.append(random.integers(0, below, (count, *shape), dtype))
        arrays.append(random.integers(0, 10, count, np.int32))
    return Dataset("d", "real", "e", *arrays, tuple("abcdefghij"), vocabulary, "0" * 64)
