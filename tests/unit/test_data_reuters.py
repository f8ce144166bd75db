"""Reuters against Keras' own functions and the known facts of the data set."""

import numpy as np
import pytest
from data_programs import prepare

from paragone.data import Dataset, load

LENGTH = 300


@pytest.fixture(scope="module")
def dataset(mirror, tmp_path_factory) -> Dataset:
    """Reuters of the mirror, from the raw file to the mapped arrays."""
    folder = tmp_path_factory.mktemp("reuters")
    prepare("reuters", folder / "results", folder / "data", environment=str(mirror))
    return load(folder / "results/manifest.json", folder / "data")


def test_known_facts(dataset):
    assert dataset.train_inputs.shape == (8_982, LENGTH)
    assert dataset.test_inputs.shape == (2_246, LENGTH)
    assert dataset.train_inputs.dtype == dataset.train_labels.dtype == np.int32
    assert len(dataset.class_names) == 46
    assert set(np.unique(dataset.train_labels)) == set(range(46))
    # The two topics that every description of the set names: 3 "earn" and 4 "acq".
    assert np.bincount(dataset.train_labels)[3:5].tolist() == [3159, 1949]
    assert dataset.edition == "official"


def test_texts_are_those_of_keras(dataset, mirror):
    """By the recipe of keras.datasets.reuters.load_data, which downloads its file, written out anew.

    Order, marks and padding are as keras.utils.pad_sequences makes them by default. The vocabulary covers
    both splits, and the words of texts that were cut, which the published program counts.
    """
    with np.load(mirror / "reuters/reuters.npz", allow_pickle=True) as file:
        texts, labels = file["x"], file["y"]
    order = np.arange(len(texts))
    np.random.RandomState(113).shuffle(order)
    texts = [[1] + [word + 3 for word in texts[index]] for index in order]
    highest = max(max(text) for text in texts)
    texts = [[word if 0 <= word < highest else 2 for word in text] for text in texts]
    made = np.concatenate([dataset.train_labels, dataset.test_labels])
    assert np.array_equal(made, labels[order])
    assert len(dataset.train_labels) == int(len(texts) * (1 - 0.2))
    for row, text in zip([*dataset.train_inputs, *dataset.test_inputs], texts, strict=True):
        kept = text[-LENGTH:]
        assert row.tolist() == [0] * (LENGTH - len(kept)) + kept
    assert dataset.vocabulary == max(max(text) for text in texts) + 1 == 30_982
