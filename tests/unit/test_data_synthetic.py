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


@pytest.fixture(scope="module", params=SHAPES)
def made(request, tmp_path_factory) -> tuple[Dataset, Dataset]:
    """The same stand-in from two stores."""
    folder = tmp_path_factory.mktemp(request.param)
    for twin in ("one", "two"):
        results, data = folder / twin / "results", folder / twin / "data"
        smaller = {"size": 32} if request.param == "cats_vs_dogs" else None
        prepare(request.param, results, data, block=smaller, source="synthetic")
    return tuple(
        load(folder / t / "results/manifest.json", folder / t / "data") for t in ("one", "two")
    )


def test_shapes_and_types_are_those_of_the_real_set(made):
    dataset = made[0]
    train, test, dtype = SHAPES[dataset.name]
    assert (dataset.train_inputs.shape, dataset.test_inputs.shape) == (train, test)
    assert dataset.train_inputs.dtype == dataset.test_inputs.dtype == dtype
    classes = len(DATASETS[dataset.name]["classes"])
    assert set(np.unique(dataset.train_labels)) == set(range(classes))
    if dataset.vocabulary is not None:
        assert dataset.vocabulary == 30_982
        assert dataset.train_inputs.min() >= 0
        assert max(dataset.train_inputs.max(), dataset.test_inputs.max()) < dataset.vocabulary


def test_equal_bytes_each_time(made):
    one, two = made
    assert one.manifest_sha256 == two.manifest_sha256
    assert np.array_equal(one.train_inputs, two.train_inputs)
    assert np.array_equal(one.test_labels, two.test_labels)


def test_test_split_is_not_the_train_split(made):
    dataset = made[0]
    examples = len(dataset.test_labels)
    assert not np.array_equal(dataset.train_inputs[:examples], dataset.test_inputs)


def test_classes_can_be_learned_but_not_perfectly(made):
    """The plainest classifiers are far above chance and below certainty."""
    dataset = made[0]
    predicted = _naive_bayes(dataset) if dataset.vocabulary else _nearest_mean(dataset)
    accuracy = (predicted == dataset.test_labels).mean()
    chance = np.bincount(dataset.test_labels).max() / len(dataset.test_labels)
    assert chance + 0.2 < accuracy < 0.96


def test_two_processes_fill_a_store_once(tmp_path):
    """Both succeed with the same manifest, and nothing half-built is left."""
    data = tmp_path / "data"
    assert fetch("reuters", tmp_path, data, source="synthetic").returncode == 0
    outputs = [tmp_path / "one.json", tmp_path / "two.json"]
    folders = ["--folder", data, "--lock", lock_of(data)]
    command = [sys.executable, ROOT / "scripts/serialize.py", *folders]
    running = [
        subprocess.Popen([*command, "--source", tmp_path / "source.json", "--output", output])
        for output in outputs
    ]
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
