"""The input pipeline: every example where it belongs, and each test example once."""

from itertools import pairwise

import numpy as np
import pytest

from paragone.batches import Shard, evaluation_batches, noise_batch, train_batches
from paragone.data import Dataset
from paragone.randomness import epoch_order


def dataset(train: int = 100, test: int = 50) -> Dataset:
    """Each image holds its own index, each label is that index plus 1,000."""

    def split(examples: int) -> tuple[np.ndarray, np.ndarray]:
        index = np.arange(examples)
        return index.astype(np.uint8).reshape(-1, 1, 1, 1), (index + 1000).astype(np.int32)

    return Dataset("d", "real", "e", *split(train), *split(test), ("a", "b", "c"), None, "0" * 64)


def index_of(batch) -> np.ndarray:
    """The indices of a batch's examples; inputs and labels must agree."""
    inputs, labels = batch[:2]
    index = inputs.reshape(-1).astype(int)
    assert np.array_equal(index + 1000, labels)
    return index


@pytest.mark.parametrize(("size", "count"), [(10, 10), (30, 3), (100, 1), (64, 1)])
def test_training_follows_the_order_and_drops_a_partial_batch(size, count):
    order = epoch_order(100, 0, 1)
    batches = list(train_batches(dataset(), order, size))
    assert len(batches) == count
    assert np.array_equal(np.concatenate([index_of(b) for b in batches]), order[: size * count])


def test_types_are_those_of_the_store():
    (inputs, labels), *_ = train_batches(dataset(), np.arange(10), 10)
    assert (inputs.dtype, labels.dtype) == (np.uint8, np.int32)
    *_, weights = next(evaluation_batches(dataset(), 10))
    assert weights.dtype == np.float32


@pytest.mark.parametrize("test", [1, 7, 49, 50, 51, 64])
@pytest.mark.parametrize("size", [1, 7, 16, 50, 200])
def test_evaluation_counts_each_example_once(test, size):
    weight = np.zeros(test)
    for batch in evaluation_batches(dataset(test=test), size):
        assert len(batch[0]) == len(batch[1]) == len(batch[2]) == size
        np.add.at(weight, index_of(batch), batch[2])
    assert np.array_equal(weight, np.ones(test))


@pytest.mark.parametrize("cuts", [[0, 4], [0, 1, 4], [0, 1, 2, 3, 4]])
def test_shards_put_together_give_the_whole_batches(cuts):
    shards = [Shard(a, b, 4) for a, b in pairwise(cuts)]
    order = epoch_order(100, 0, 1)
    for whole, parts in (
        (
            train_batches(dataset(), order, 16),
            [train_batches(dataset(), order, 16, s) for s in shards],
        ),
        (evaluation_batches(dataset(), 16), [evaluation_batches(dataset(), 16, s) for s in shards]),
    ):
        for batch, *local in zip(whole, *parts, strict=True):
            for array, *pieces in zip(batch, *local, strict=True):
                assert np.array_equal(np.concatenate(pieces), array)


def test_noise_teaches_nothing_and_fits_the_data():
    train, test = noise_batch(dataset(), 7)
    for inputs, labels, *weights in (train, test):
        assert inputs.shape == (7, 1, 1, 1)
        assert inputs.dtype == np.uint8
        assert not inputs.any()
        assert labels.dtype == np.int32
        assert set(labels) == {0, 1, 2}
        assert not weights or np.array_equal(weights[0], np.ones(7, np.float32))
