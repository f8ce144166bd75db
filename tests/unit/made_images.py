"""Data sets of a few made-up examples, for engines that are driven without a file."""

import numpy as np

from paragone.data import Dataset


def make_images(train: int = 64, test: int = 64, side: int = 28) -> Dataset:
    """Random images of one channel and random labels of ten classes."""
    random, arrays = np.random.default_rng(0), []
    for count in (train, test):
        arrays.append(random.integers(0, 256, (count, side, side, 1), np.uint8))
        arrays.append(random.integers(0, 10, count, np.int32))
    return Dataset("d", "real", "e", *arrays, tuple("abcdefghij"), None, "0" * 64)


def number_images(train: int = 100, test: int = 50, side: int = 1) -> Dataset:
    """Images of which each holds its own index, as its label does."""
    indices = np.arange(max(train, test), dtype=np.int32)
    images = indices.astype(np.uint8).reshape(-1, 1, 1, 1) + np.zeros((side, side, 1), np.uint8)
    splits = images[:train], indices[:train], images[:test], indices[:test]
    return Dataset("fashion_mnist", "real", "e", *splits, ("a", "b", "c"), None, "0" * 64)
