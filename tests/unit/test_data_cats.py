"""Cats vs dogs: the subset edition through the official builder's code."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from data_programs import DATASETS, prepare
from PIL import Image
from workspace import changed, make_spec

from paragone.data import Dataset, load
from paragone.data.batches import train_batches

SIZE = 64


@pytest.fixture(scope="module")
def dataset(mirror, tmp_path_factory) -> Dataset:
    """The subset of the mirror at 64 x 64, from the raw file to the mapped arrays."""
    folder = tmp_path_factory.mktemp("cats")
    prepare("cats_vs_dogs", folder / "results", folder / "data", str(mirror), {"size": SIZE})
    return load(folder / "results/manifest.json", folder / "data")


def test_counts_of_the_subset(dataset):
    assert dataset.edition == "subset-2002"
    assert dataset.train_inputs.shape == (1_601, SIZE, SIZE, 3)
    assert dataset.test_inputs.shape == (401, SIZE, SIZE, 3)
    labels = np.concatenate([dataset.train_labels, dataset.test_labels])
    assert np.bincount(labels).tolist() == [1_001, 1_001]
    # Both classes are spread over both splits and over the beginning of each.
    assert 150 < dataset.test_labels.sum() < 250
    assert 0 < dataset.train_labels[:50].sum() < 50


def test_images_are_those_of_the_files(dataset, mirror):
    """The first image of each split, found by its place in the documented split."""
    (name,) = DATASETS["cats_vs_dogs"]["editions"]["subset-2002"]
    with zipfile.ZipFile(mirror / "cats_vs_dogs" / name) as archive:
        files = np.array(sorted(path for path in archive.namelist() if path.endswith(".jpg")))
        order = np.random.Generator(np.random.Philox(key=8020)).permutation(len(files))
        for inputs, labels, file in (
            (dataset.train_inputs, dataset.train_labels, files[order[0]]),
            (dataset.test_inputs, dataset.test_labels, files[order[1_601]]),
        ):
            assert dataset.class_names[labels[0]] == Path(file).parent.name.lower()
            image = Image.open(io.BytesIO(archive.read(file))).convert("RGB")
            # Plain bilinear sampling without anti-aliasing, as tf.image.resize.
            expected = _bilinear(np.asarray(image, np.float32), SIZE)
            # The builder encodes each image once more, at quality 95.
            assert np.abs(inputs[0] - expected).mean() < 4


def test_the_loader_decodes_the_arrays_once_more(dataset):
    """From the files of TensorFlow Datasets, in the drawn order, bit by bit."""
    spec = make_spec("mobilenet-v2", "tensorflow-mirrored", global_batch=64, steps_per_epoch=None)
    assert spec.steps(len(dataset.train_labels)) == 25
    loaded = changed(spec, backend={"loader": "tf_data"})
    pairs = zip(train_batches(dataset, loaded, 1), train_batches(dataset, spec, 1), strict=True)
    for decoded, right in pairs:
        assert all(np.array_equal(*pair) for pair in zip(decoded, right, strict=True))
        assert (decoded[0].dtype, decoded[1].dtype) == (np.uint8, np.int32)


def _bilinear(image: np.ndarray, size: int) -> np.ndarray:
    for axis in (0, 1):
        length = image.shape[axis]
        place = np.clip((np.arange(size) + 0.5) * length / size - 0.5, 0, length - 1)
        low = np.floor(place).astype(int)
        share = (place - low).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        high = np.minimum(low + 1, length - 1)
        image = np.take(image, low, axis) * (1 - share) + np.take(image, high, axis) * share
    return image
