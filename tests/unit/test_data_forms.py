"""Data sets of the user's own: arrays, folders of images and tables, and their mistakes."""

from pathlib import Path

import numpy as np
import pytest
from data_programs import BOTH, DIGITS, LABELS, NPZ, RANDOM, made, pictures, wrong

from paragone.data import Dataset


def rows(dataset: Dataset) -> set[tuple]:
    """Every example with its label, of both splits."""
    inputs = np.concatenate([dataset.train_inputs, dataset.test_inputs])
    labels = np.concatenate([dataset.train_labels, dataset.test_labels])
    return {(bytes(row), label) for row, label in zip(inputs, labels.tolist(), strict=True)}


# Arrays


@pytest.mark.parametrize("saved", [np.savez, np.savez_compressed, None])
def test_arrays_with_a_part_held_out(here, saved):
    """Each example is in one split, with its own label; integers become float32, images get a channel."""
    if saved:
        saved("mine.npz", inputs=DIGITS, labels=LABELS)
    else:
        Path("mine.npz").mkdir()
        np.save("mine.npz/inputs.npy", DIGITS)
        np.save("mine.npz/labels.npy", LABELS)
    dataset, manifest = made(NPZ)
    assert dataset.train_inputs.shape == (40, 8, 8, 1)
    assert dataset.test_inputs.dtype == np.float32
    pairs = zip(DIGITS.astype(np.float32), LABELS.tolist(), strict=True)
    assert rows(dataset) == {(bytes(row), label) for row, label in pairs}
    assert manifest["class_names"] == list("01234")
    assert manifest["majority"]["train"] == np.bincount(dataset.train_labels).max() / 40
    assert manifest["split"].startswith("20% held out")


def test_arrays_of_two_splits_keep_their_order(here):
    names = np.array(["b", "c", "a"])[np.arange(50) % 3]
    images = DIGITS.astype(np.uint8)
    np.savez("mine.npz", x=images[:30], y=names[:30], xt=images[30:], yt=names[30:])
    dataset, manifest = made(BOTH)
    assert np.array_equal(dataset.test_inputs[..., 0], images[30:])
    assert dataset.train_inputs.dtype == np.uint8
    assert [dataset.class_names[label] for label in dataset.train_labels] == names[:30].tolist()
    assert manifest["vocabulary"] is None


def test_arrays_of_word_indices(here):
    np.savez("mine.npz", inputs=RANDOM.integers(0, 70, (50, 12)), labels=LABELS)
    dataset, _ = made(NPZ | {"vocabulary": 70})
    assert (dataset.vocabulary, dataset.train_inputs.dtype) == (70, np.int32)
    wrong(NPZ | {"vocabulary": 60}, "datasets.refused.vocabulary", "vocabulary - 1")


def test_arrays_that_cannot_be_read(here):
    np.savez("mine.npz", inputs=DIGITS, labels=LABELS)
    wrong(NPZ | {"held_out": 0.999}, "no example is left", "train")
    wrong(NPZ | {"classes": ["a", "b"]}, "2 names for the 5")
    wrong(NPZ | {"classes": [*"43210"]}, "another order, which is 0, 1, 2, 3, 4")
    wrong(NPZ | {"inputs": "x"}, "no array 'x'", "it has inputs, labels")
    wrong({"form": "arrays", "path": "mine.npz"}, "held_out: there is no test split")
    both = {"train": "inputs", "test": "inputs"}
    wrong(NPZ | {"inputs": both}, "held_out: there is a test split")


def test_two_splits_of_different_types(here):
    """A test split of fractions as bytes would be zeros."""
    images = DIGITS.astype(np.uint8)
    np.savez("mine.npz", x=images[:30], y=LABELS[:30], xt=images[30:] / 255, yt=LABELS[30:])
    wrong(BOTH, "xt of mine.npz is float64", "x of mine.npz is uint8")


@pytest.mark.parametrize("saved", [np.savez, np.savez_compressed])
def test_a_damaged_archive(here, saved):
    saved("mine.npz", inputs=RANDOM.integers(0, 256, (50, 8, 8)), labels=LABELS)
    content = bytearray(Path("mine.npz").read_bytes())
    content[2000] ^= 1
    Path("mine.npz").write_bytes(content)
    wrong(NPZ, "mine.npz: 'inputs' is damaged")


# Images


def test_folder_of_images(here):
    pictures(Path("fruit"), {"lemon": (250, 240, 10), "plum": (60, 10, 120)})
    (here / "fruit/.hidden").mkdir()
    block = {"form": "folder", "path": "fruit", "size": 8, "held_out": 0.25}
    dataset, _ = made(block)
    assert dataset.class_names == ("lemon", "plum")
    assert (len(dataset.train_labels), len(dataset.test_labels)) == (15, 5)
    for image, label in zip(dataset.train_inputs, dataset.train_labels, strict=True):
        assert image.shape == (8, 8, 3)
        assert np.array_equal(image[3, 3], [(250, 240, 10), (60, 10, 120)][label])


def test_folders_that_cannot_be_read(here):
    pictures(Path("one"), {"a": (0, 0, 0)})
    block = {"form": "folder", "path": "one", "size": 8, "held_out": 0.2}
    wrong(block, "one", "two or more folders")
    wrong(block | {"path": "one/a/0.png"}, "one/a/0.png: is a file")
    pictures(Path("two"), {"b": (0, 0, 0), "c": (0, 0, 0)})
    path = {"train": "two", "test": "one"}
    pictures(Path("one"), {"d": (0, 0, 0)})
    wrong(block | {"path": path}, "one has the classes a, d", "two has b, c")


# Texts


CSV = """kind,text
good,"A fine, fine day"
bad,"It's a
rainy day"
good,fine
bad,rain
"""


def test_table_of_texts(here):
    """Words are counted over the training split alone; texts are padded at their beginning."""
    for split in ("train", "test"):
        Path(f"{split}.csv").write_text(CSV if split == "train" else CSV.replace("fine", "novel"))
    path = {"train": "train.csv", "test": "test.csv"}
    dataset, _ = made({"form": "table", "path": path, "label": "kind", "length": 8, "words": 4})
    # 1 starts a text, 2 is none of the four words, then: fine 3 times, a and day twice, it's once.
    assert dataset.vocabulary == 7
    assert dataset.class_names == ("bad", "good")
    assert dataset.train_labels.tolist() == [1, 0, 1, 0]
    assert dataset.train_inputs[0].tolist() == [0, 0, 0, 1, 4, 3, 3, 5]
    assert dataset.train_inputs[1].tolist() == [0, 0, 0, 1, 6, 4, 2, 5]
    assert dataset.test_inputs[0].tolist() == [0, 0, 0, 1, 4, 2, 2, 5]
