"""Reuters against Keras' own functions and the known facts of the data set."""

import io
import pickle

import numpy as np
import pytest
from data_programs import prepare

from paragone.data import Dataset, load
from paragone.data.builders import reuters

LENGTH = 300


@pytest.fixture(scope="module")
def dataset(mirror, tmp_path_factory) -> Dataset:
    """Reuters of the mirror, from the raw file to the mapped arrays."""
    folder = tmp_path_factory.mktemp("reuters")
    prepare("reuters", folder / "results", folder / "data", environment=str(mirror))
    return load(folder / "results/manifest.json", folder / "data")


@pytest.fixture(scope="module")
def published(mirror) -> tuple:
    """((train texts, labels), (test texts, labels)) by Keras' published recipe, written out anew.

    keras.datasets.reuters.load_data downloads its file, so its steps are repeated here.
    """
    with np.load(mirror / "reuters/reuters.npz", allow_pickle=True) as file:
        texts, labels = file["x"], file["y"]
    order = np.arange(len(texts))
    np.random.RandomState(113).shuffle(order)
    texts = [[1] + [word + 3 for word in texts[index]] for index in order]
    highest = max(max(text) for text in texts)
    texts = [[word if 0 <= word < highest else 2 for word in text] for text in texts]
    cut = int(len(texts) * (1 - 0.2))
    labels = labels[order]
    return (texts[:cut], labels[:cut]), (texts[cut:], labels[cut:])


def test_known_facts(dataset):
    assert dataset.train_inputs.shape == (8_982, LENGTH)
    assert dataset.test_inputs.shape == (2_246, LENGTH)
    assert dataset.train_inputs.dtype == dataset.train_labels.dtype == np.int32
    assert len(dataset.class_names) == 46
    assert set(np.unique(dataset.train_labels)) == set(range(46))
    # The two topics that every description of the set names: 3 "earn" and 4 "acq".
    assert np.bincount(dataset.train_labels)[3:5].tolist() == [3159, 1949]
    assert dataset.edition == "official"


@pytest.mark.parametrize("split", [0, 1])
def test_texts_are_those_of_keras(dataset, published, split):
    """Order, marks and padding as keras.utils.pad_sequences makes them by default."""
    texts, labels = published[split]
    inputs = (dataset.train_inputs, dataset.test_inputs)[split]
    assert np.array_equal((dataset.train_labels, dataset.test_labels)[split], labels)
    for row, text in zip(inputs, texts, strict=True):
        kept = text[-LENGTH:]
        assert row.tolist() == [0] * (LENGTH - len(kept)) + kept


def test_vocabulary_covers_both_splits(dataset, published):
    """Also the words of texts that were cut, which the published program counts."""
    (train, _), (test, _) = published
    assert dataset.vocabulary == max(max(text) for text in train + test) + 1 == 30_982


def test_pickle_may_build_arrays_only():
    kept = np.array([[1, 2], [3]], dtype=object)
    stream = io.BytesIO()
    np.save(stream, kept, allow_pickle=True)
    stream.seek(0)
    assert reuters.read_array(stream).tolist() == kept.tolist()

    class Harmful:
        def __reduce__(self) -> tuple:
            return print, ("this must not run",)

    stream = io.BytesIO()
    np.save(stream, np.array([Harmful()], dtype=object), allow_pickle=True)
    stream.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="must not load"):
        reuters.read_array(stream)
