"""The input pipeline: every example where it belongs, and each test example once."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace
from workspace import make_spec

from paragone.base.errors import UserError
from paragone.config import run_spec as spec_module
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.augmentation import augment
from paragone.data.batches import (
    Shard,
    evaluation_batches,
    noise_batches,
    train_batches,
    train_dtype,
    train_examples,
)
from paragone.data.random_streams import epoch_order

AUGMENTED = {"augmentation": {"shift": 0.2, "flip": True}}


def dataset(train: int = 100, test: int = 50, side: int = 1) -> Dataset:
    """Each image holds its own index, each label is that index plus 1,000."""

    def split(examples: int) -> tuple[np.ndarray, np.ndarray]:
        index = np.arange(examples)
        images = np.zeros((examples, side, side, 1), np.uint8)
        return images + index.astype(np.uint8).reshape(-1, 1, 1, 1), (index + 1000).astype(np.int32)

    return Dataset("d", "real", "e", *split(train), *split(test), ("a", "b", "c"), None, "0" * 64)


def index_of(batch) -> np.ndarray:
    """The indices of a batch's examples; inputs and labels must agree."""
    inputs, labels = batch[:2]
    index = inputs.reshape(-1).astype(int)
    assert np.array_equal(index + 1000, labels)
    return index


def spec_of(size: int, **workload) -> Spec:
    """All whole batches of `size` with seed 0; `workload`: keys to set."""
    spec = make_spec("fashion-conv", "torch", global_batch=size, steps_per_epoch=None)
    return replace(spec, workload={**spec.workload, **workload})


@pytest.mark.parametrize(("size", "count"), [(10, 10), (30, 3), (100, 1), (64, 1)])
def test_training_follows_the_order_and_drops_a_partial_batch(size, count):
    order = epoch_order(100, 0, 3)
    batches = list(train_batches(dataset(), spec_of(size), 3))
    assert len(batches) == count
    assert np.array_equal(np.concatenate([index_of(b) for b in batches]), order[: size * count])


def test_shuffled_once_every_epoch_has_the_order_of_the_first():
    spec = spec_of(10, shuffle="once")
    first, third = (list(map(index_of, train_batches(dataset(), spec, n))) for n in (1, 3))
    assert np.array_equal(first, third)
    assert np.array_equal(first[0], epoch_order(100, 0, 1)[:10])


def test_an_epoch_of_fewer_steps_takes_the_beginning_of_the_order():
    spec = replace(spec_of(16), steps_per_epoch=2)
    batches = list(train_batches(dataset(), spec, 1))
    assert np.array_equal(
        np.concatenate([index_of(b) for b in batches]), epoch_order(100, 0, 1)[:32]
    )


def test_a_workload_may_use_only_the_first_examples():
    spec = spec_of(10, train_examples=40)
    assert train_examples(dataset(), spec) == 40
    batches = list(train_batches(dataset(), spec, 2))
    assert len(batches) == 4
    seen = np.concatenate([index_of(b) for b in batches])
    assert np.array_equal(seen, epoch_order(40, 0, 2))


def test_more_examples_than_there_are_is_all_of_them():
    assert train_examples(dataset(), spec_of(10, train_examples=1000)) == 100
    assert train_examples(dataset(), spec_of(10)) == 100


def test_steps_that_do_not_fit_into_the_used_examples_are_refused():
    with pytest.raises(UserError, match="40 training examples"):
        next(train_batches(dataset(), spec_of(41, train_examples=40), 1))


def test_types_are_those_of_the_store():
    (inputs, labels), *_ = train_batches(dataset(), spec_of(10), 1)
    assert (inputs.dtype, labels.dtype) == (np.uint8, np.int32)
    assert train_dtype(dataset(), spec_of(10)) == np.uint8
    *_, weights = next(evaluation_batches(dataset(), spec_of(10)))
    assert weights.dtype == np.float32


def test_augmented_training_is_in_floats_and_evaluation_as_stored():
    spec = spec_of(10, **AUGMENTED)
    (inputs, _), *_ = train_batches(dataset(side=8), spec, 1)
    assert inputs.dtype == train_dtype(dataset(side=8), spec) == np.float32
    (noise, _), (stored, *_) = noise_batches(dataset(side=8), spec)
    assert (noise.dtype, stored.dtype) == (np.float32, np.uint8)
    assert next(evaluation_batches(dataset(side=8), spec))[0].dtype == np.uint8


def test_each_batch_and_epoch_is_augmented_anew():
    """An image alone is never seen twice in the same place."""
    random = np.random.default_rng(0)
    one = random.integers(0, 256, (1, 28, 28, 1), np.uint8)
    data = dataclasses.replace(dataset(8, 1), train_inputs=np.repeat(one, 8, axis=0))
    spec = spec_of(4, **AUGMENTED)
    batches = [inputs for epoch in (1, 2) for inputs, _ in train_batches(data, spec, epoch)]
    images = np.concatenate(batches).reshape(16, -1)
    assert len(np.unique(images, axis=0)) == 16
    again = [inputs for epoch in (1, 2) for inputs, _ in train_batches(data, spec, epoch)]
    assert np.array_equal(np.concatenate(again).reshape(16, -1), images)
    other = replace(spec, seed=1)
    assert not np.array_equal(next(train_batches(data, other, 1))[0], batches[0])


def test_without_shift_and_flip_the_images_are_left_as_they_are():
    spec = spec_of(10, augmentation={"shift": 0.0, "flip": False})
    for inputs, labels in train_batches(dataset(side=8), spec, 1):
        assert np.array_equal(inputs[:, 0, 0, 0] + 1000, labels)
        assert np.array_equal(augment(inputs, np.zeros((10, 3))), inputs)


@pytest.mark.parametrize("test", [1, 7, 49, 50, 51, 64])
@pytest.mark.parametrize("size", [1, 7, 16, 50, 200])
def test_evaluation_counts_each_example_once(monkeypatch, test, size):
    monkeypatch.setattr(spec_module, "EVALUATION_BATCH", 1)
    weight = np.zeros(test)
    for batch in evaluation_batches(dataset(test=test), spec_of(size)):
        assert len(batch[0]) == len(batch[1]) == len(batch[2]) == size
        np.add.at(weight, index_of(batch), batch[2])
    assert np.array_equal(weight, np.ones(test))


@pytest.mark.parametrize(
    ("batch", "replicas", "size"),
    [(8, 1, 256), (256, 1, 256), (300, 1, 300), (9, 3, 255), (2048, 8, 2048), (512, 512, 512)],
)
def test_evaluation_takes_at_least_about_256_examples_at_once(batch, replicas, size):
    spec = make_spec("fashion-conv", "torch-xla", replicas, batch)
    assert spec.evaluation_batch == size
    assert size % replicas == 0
    assert len(next(evaluation_batches(dataset(), spec))[0]) == size


@pytest.mark.parametrize("workload", [{}, AUGMENTED], ids=["plain", "augmented"])
@pytest.mark.parametrize("cuts", [[0, 4], [0, 1, 4], [0, 1, 2, 3, 4]])
def test_shards_put_together_give_the_whole_batches(cuts, workload):
    """Augmentation included: what is drawn for an image does not depend on who feeds it."""
    shards = [Shard(a, b, 4) for a, b in pairwise(cuts)]
    random = np.random.default_rng(0)
    data = dataclasses.replace(
        dataset(), train_inputs=random.integers(0, 256, (100, 8, 8, 1), np.uint8)
    )
    spec = spec_of(16, **workload)
    for whole, parts in (
        (train_batches(data, spec, 1), [train_batches(data, spec, 1, s) for s in shards]),
        (evaluation_batches(data, spec), [evaluation_batches(data, spec, s) for s in shards]),
    ):
        for batch, *local in zip(whole, *parts, strict=True):
            for array, *pieces in zip(batch, *local, strict=True):
                assert np.array_equal(np.concatenate(pieces), array)


def test_noise_teaches_nothing_and_fits_the_data():
    training, evaluation = noise_batches(dataset(), spec_of(10))
    assert (len(training[1]), len(evaluation[1])) == (10, 256)
    for inputs, labels, *weights in (training, evaluation):
        assert inputs.shape == (len(labels), 1, 1, 1)
        assert inputs.dtype == np.uint8
        assert not inputs.any()
        assert labels.dtype == np.int32
        assert set(labels) == {0, 1, 2}
        assert not weights or np.array_equal(weights[0], np.ones(256, np.float32))


def test_noise_has_the_shapes_of_the_real_batches():
    """Of a process that feeds a part of the replicas too: else its first step would compile again."""
    shard, spec = Shard(1, 3, 4), spec_of(16, **AUGMENTED)
    data = dataset(side=8)
    for noise, real in zip(
        noise_batches(data, spec, shard),
        (next(train_batches(data, spec, 1, shard)), next(evaluation_batches(data, spec, shard))),
        strict=True,
    ):
        assert [(a.shape, a.dtype) for a in noise] == [(a.shape, a.dtype) for a in real]
