"""A builder that only TensorFlow Datasets has, with its encoding of single images."""

import shutil

import numpy as np
from unit.data_programs import FASHION_FILES, prepare

from paragone.data import load


def test_mnist_given_the_files_of_fashion_mnist(mirror, fashion, tmp_path):
    """Both data sets have files of the same names."""
    shutil.copytree(mirror / "fashion_mnist", tmp_path / "mirror/mnist")
    block = {"form": "tfds", "builder": "mnist", "editions": {"mine": FASHION_FILES}}
    folders = tmp_path / "results", tmp_path / "data"
    prepare("other", *folders, str(tmp_path / "mirror"), block)
    made = load(folders[0] / "manifest.json", folders[1])
    ours = load(fashion.manifest, fashion.folder)
    for name in ("train_inputs", "train_labels", "test_inputs", "test_labels"):
        assert np.array_equal(getattr(made, name), getattr(ours, name))
