"""The synthetic stand-ins: shapes and types of the real sets, equal bytes each time, learnable."""

import subprocess
import sys

import numpy as np
import pytest
from data_programs import DATASETS, ROOT, fetch, lock_of, prepare

from paragone.data import Dataset, load

SHAPES = {
    "fashion_mnist": ((60_000, 28, 28, 1), (10_000, 28, 28, 1), np.uint8),
    "cats_vs_dogs": ((1_602, 32, 32, 3), (400, 32, 32, 3), np.uint8),
    "reuters": ((8_982, 300), (2_246, 300), np.int32),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_stand_in_has_the_shapes_of_the_real_set_and_can_be_learned(stand_ins, tmp_path, name):
    """It has equal bytes each time. The plainest classifiers are far above chance and below certainty."""
    smaller = {"size": 32} if name == "cats_vs_dogs" else None
    prepare(name, tmp_path, tmp_path / "data", block=smaller, source="synthetic")
    dataset = load(tmp_path / "manifest.json", tmp_path / "data")
    if name in stand_ins:
        before = load(stand_ins[name].manifest, stand_ins[name].folder)
        assert before.manifest_sha256 == dataset.manifest_sha256
        for array in ("train_inputs", "train_labels", "test_inputs", "test_labels"):
            assert np.array_equal(getattr(before, array), getattr(dataset, array))
    train, test, dtype = SHAPES[name]
    assert (dataset.train_inputs.shape, dataset.test_inputs.shape) == (train, test)
    assert dataset.train_inputs.dtype == dataset.test_inputs.dtype == dtype
    classes = len(DATASETS[name]["classes"])
    assert set(np.unique(dataset.train_labels)) == set(range(classes))
    assert not np.array_equal(dataset.train_inputs[: test[0]], dataset.test_inputs)
    if name == "reuters":
        assert dataset.vocabulary == 30_982
        assert dataset.train_inputs.min() >= 0
        assert max(dataset.train_inputs.max(), dataset.test_inputs.max()) < dataset.vocabulary
    predicted = _naive_bayes(dataset) if dataset.vocabulary else _nearest_mean(dataset)
    accuracy = (predicted == dataset.test_labels).mean()
    chance = np.bincount(dataset.test_labels).max() / len(dataset.test_labels)
    assert chance + 0.2 < accuracy < 0.96


def test_two_processes_fill_a_store_once(tmp_path):
    """Both succeed with the same manifest, and nothing half-built is left."""
    data = tmp_path / "data"
    assert fetch("reuters", tmp_path, data, source="synthetic").returncode == 0
    outputs = [tmp_path / "first.json", tmp_path / "second.json"]
    line = [sys.executable, ROOT / "scripts/serialize.py", "--source", tmp_path / "source.json"]
    line += ["--folder", data, "--lock", lock_of(data)]
    running = [subprocess.Popen([*line, "--output", output]) for output in outputs]
    assert [process.wait(60) for process in running] == [0, 0]
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    (arrays,) = (data / "arrays").iterdir()
    assert not arrays.name.startswith(".")


def _nearest_mean(dataset: Dataset) -> np.ndarray:
    """Classes of the test images by the nearest mean of the first 10,000 train images."""
    train = dataset.train_inputs[:10_000].astype(np.float32)
    labels = dataset.train_labels[:10_000]
    means = np.stack([train[labels == k].mean(axis=0) for k in range(len(dataset.class_names))])
    means = means.reshape(len(means), -1) - means.mean()
    test = dataset.test_inputs[:].reshape(len(dataset.test_labels), -1).astype(np.float32)
    return ((means**2).sum(axis=1) - 2 * (test - test.mean()) @ means.T).argmin(axis=1)


def _naive_bayes(dataset: Dataset) -> np.ndarray:
    """Classes of the test texts by word frequencies, add-one smoothed."""
    counts = np.ones((len(dataset.class_names), dataset.vocabulary))
    np.add.at(counts, (dataset.train_labels[:, None], dataset.train_inputs), 1)
    counts[:, 0] = 1  # padding says nothing
    scores = np.log(counts / counts.sum(axis=1, keepdims=True))
    prior = np.log(np.bincount(dataset.train_labels))
    return np.stack(
        [(prior + scores[:, text[text > 0]].sum(axis=1)).argmax() for text in dataset.test_inputs]
    )
