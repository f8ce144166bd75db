"""The input pipeline: the order of examples, shifts and flips, every example where it belongs."""

import dataclasses
import zlib
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from made_images import number_images
from msgspec.structs import replace
from workspace import changed, make_spec

from paragone.config.run_spec import Augmentation, Spec
from paragone.data import Dataset
from paragone.data.batches import (
    WHOLE,
    Shard,
    batch_sizes,
    draw,
    evaluation_batches,
    noise_batches,
    train_batches,
)
from paragone.data.random_streams import epoch_order, framework_seed, generator
from paragone.parity import definition
from paragone.training.counts import MODULUS, Counts, label_sum


def test_orders_are_shuffled_and_those_of_seeds_epochs_and_purposes_differ():
    """(seed 1, epoch 2) and (seed 2, epoch 1) included, and large seeds."""
    orders = {tuple(epoch_order(100, seed, epoch)) for seed in range(5) for epoch in range(1, 6)}
    assert len(orders) == 25
    assert not np.array_equal(epoch_order(100, 2**31 - 1, 1), epoch_order(100, 2**31 - 2, 1))
    order = epoch_order(10_000, 0, 1)
    assert abs(np.corrcoef(order, np.arange(10_000))[0, 1]) < 0.05
    first, second = (generator(purpose, 0, 1).random(100) for purpose in ("order", "weights"))
    assert not np.intersect1d(first, second).size
    seeds = {framework_seed(seed, epoch) for seed in range(10) for epoch in range(10)}
    assert len(seeds) == 100
    assert 0 <= min(seeds) <= max(seeds) < 2**31


BOTH = Augmentation(shift=0.2, flip=True)


def test_orders_and_draws_stay_what_they_were():
    """Records of other days were made with these."""
    assert epoch_order(10, 0, 1).tolist() == [3, 6, 4, 8, 1, 9, 2, 5, 7, 0]
    (first,) = draw(1, BOTH, generator("augmentation", 0, 1))
    assert first.tolist() == pytest.approx(
        [-0.044407454893282294, -0.06389736221972364, 1], abs=1e-15
    )


AUGMENTED = {"augmentation": {"shift": 0.2, "flip": True}}


def random_images() -> Dataset:
    """Numbers of images as labels, and images of 8 x 8, all unlike."""
    images = np.random.default_rng(0).integers(0, 256, (100, 8, 8, 1), np.uint8)
    return dataclasses.replace(number_images(), train_inputs=images)


def spec_of(size: int, steps: int | None = None, **workload) -> Spec:
    """Batches of `size` with seed 0, all whole ones unless `steps` is given; `workload`: keys to set."""
    spec = make_spec("fashion-conv", "torch", global_batch=size, steps_per_epoch=steps)
    return changed(spec, workload)


HELD_OUT = {"validation": {"random": 0.3}}
KEPT, REPLACED = {"partial_batch": "keep"}, {"shuffle": "with_replacement"}
SPECS = [
    spec_of(10),
    spec_of(30),
    spec_of(30, **KEPT),
    spec_of(16, steps=2),
    spec_of(10, shuffle_buffer=7),
    spec_of(10, shuffle_buffer=7, shuffle="once"),
    spec_of(10, shuffle_buffer=1000),
    spec_of(10, train_examples=40),
    spec_of(10, steps=5, **REPLACED),
    spec_of(7, **AUGMENTED),
    spec_of(7, evaluation={"first": 5}),
    spec_of(16, evaluation={"random_batches": 9}),
    spec_of(10, validation={"first": 0.33}, train_examples=80, **KEPT),
    spec_of(10, validation={"last": 9}, shuffle_buffer=7),
    spec_of(10, validation={"random": 0.25}, steps=5, evaluation={"first": 5}, **REPLACED),
]


@pytest.mark.parametrize("spec", SPECS, ids=range(len(SPECS)))
def test_batches_are_those_of_the_definition(spec):
    """This holds for an epoch, for a window that goes on into later epochs, and for an evaluation."""
    data, spec = random_images(), replace(spec, seed=5, least_evaluation_batch=1)
    for epoch in (1, 3):
        for batches, defined in (
            (train_batches(data, spec, epoch), definition.batches(spec, data, epoch)),
            (
                train_batches(data, spec, epoch, steps=25),
                definition.whole(definition.batches, spec, data, epoch, 25),
            ),
            *(
                (
                    evaluation_batches(data, spec, epoch=epoch, split=split),
                    definition.tests(spec, data, epoch, split),
                )
                for split in spec.workload.evaluated
            ),
        ):
            for batch, expected in zip(batches, defined, strict=True):
                counted = expected[2] > 0 if len(expected) == 3 else slice(None)
                for array, right in zip(batch, expected, strict=True):
                    assert (array.shape, array.dtype) == (right.shape, right.dtype)
                    assert np.array_equal(array[counted], right[counted])
                assert np.array_equal(batch[2:], expected[2:])


def drawn_by_hand(seed: int, used: int, held: int) -> list[int]:
    key = np.array([seed * 2**32, zlib.crc32(b"validation")], np.uint64)
    order = np.random.Generator(np.random.Philox(key=key)).permutation(used)
    return sorted(order[:held].tolist())


@pytest.mark.parametrize(
    ("asked", "used", "held"),
    [
        ({"last": 0.1}, 100, range(90, 100)),
        ({"last": 7}, 100, range(93, 100)),
        ({"last": 0.29}, 50, range(35, 50)),  # of 50 * 0.71 = 35.5, as Keras rounds, 35 train
        ({"first": 0.1}, 100, range(10)),
        ({"first": 7}, 60, range(7)),
        ({"random": 0.25}, 40, drawn_by_hand(3, 40, 10)),
        ({"random": 10}, 100, drawn_by_hand(3, 100, 10)),
    ],
)
@pytest.mark.parametrize("order", [{}, {"shuffle_buffer": 7}, {"shuffle": "once"}, REPLACED])
def test_what_is_held_out_is_validated_whole_and_is_in_no_training_batch(asked, used, held, order):
    """Labels are the numbers of examples."""
    steps = 3 if order == REPLACED else None
    limit = {"train_examples": used} if used < 100 else {}
    spec = spec_of(10, steps, validation=asked, **KEPT, **limit, **order)
    spec, data = replace(spec, seed=3, least_evaluation_batch=1), random_images()
    batches = evaluation_batches(data, spec, split="validation")
    validated = [n for _, labels, weights in batches for n in labels[weights > 0].tolist()]
    assert validated == [*held]
    rest = sorted({*range(used)} - {*held})
    for epoch in (1, 2):
        counts = Counts(SimpleNamespace(shard=WHOLE, updates=int), spec, data, epoch)
        drawn = [labels for _, labels in counts.over(train_batches(data, spec, epoch))]
        assert counts.batches == counts.steps == len(drawn)
        trained = np.concatenate(drawn)
        assert counts.digest == label_sum(trained, 0) % MODULUS
        assert {*trained.tolist()} <= {*rest}
        if order != REPLACED:
            assert sorted(trained.tolist()) == rest
    tested = [labels for _, labels, _ in evaluation_batches(data, spec)]
    assert len(np.concatenate(tested)) == len(data.test_labels)


def test_a_batch_with_an_example_that_is_held_out_is_none_of_the_protocol():
    spec, data = spec_of(10, validation={"random": 0.2}), random_images()
    counts = Counts(SimpleNamespace(shard=WHOLE, updates=int), spec, data, 1)
    others = replace(spec, workload=replace(spec.workload, validation=None, train_examples=80))
    for _ in counts.over(train_batches(data, others, 1)):
        pass
    assert counts.batches < counts.steps == 8


def test_a_partial_batch_that_is_kept_is_warmed_up_by_noise_of_its_size():
    spec, data = spec_of(30, **KEPT, **AUGMENTED), random_images()
    assert batch_sizes(data, spec) == [30, 10]
    assert batch_sizes(data, replace(spec, steps_per_epoch=3)) == [30]
    training, evaluation = noise_batches(data, spec, size=10)
    assert (len(training[0]), len(evaluation[0])) == (10, spec.evaluation_batch)


@pytest.mark.parametrize(
    ("batch", "replicas", "size"),
    [(8, 1, 256), (300, 1, 300), (9, 3, 255)],
)
def test_evaluation_takes_at_least_about_256_examples_at_once(batch, replicas, size):
    spec = make_spec("fashion-conv", "torch-xla", replicas, batch)
    assert spec.evaluation_batch == size
    assert len(next(evaluation_batches(number_images(), spec))[0]) == size


@pytest.mark.parametrize("workload", [{}, KEPT | AUGMENTED, REPLACED, HELD_OUT], ids=str)
@pytest.mark.parametrize("cuts", [[0, 1, 4], [0, 1, 2, 3, 4]])
def test_shards_put_together_give_the_whole_batches(cuts, workload):
    """Augmentation included: what is drawn for an image does not depend on who feeds it."""
    shards = [Shard(a, b, 4) for a, b in pairwise(cuts)]
    data, spec = random_images(), spec_of(16, **workload)
    for whole, parts in (
        (train_batches(data, spec, 1), [train_batches(data, spec, 1, s) for s in shards]),
        *(
            [
                evaluation_batches(data, spec, split=split),
                [evaluation_batches(data, spec, s, split=split) for s in shards],
            ]
            for split in spec.workload.evaluated
        ),
    ):
        for batch, *local in zip(whole, *parts, strict=True):
            for array, *pieces in zip(batch, *local, strict=True):
                assert np.array_equal(np.concatenate(pieces), array)


@pytest.mark.parametrize("workload", [{}, AUGMENTED], ids=["plain", "augmented"])
def test_noise_teaches_nothing_and_has_the_shapes_of_the_real_batches(workload):
    """Of a process that feeds a part of the replicas too: else its first step would compile again."""
    shard, spec, data = Shard(1, 3, 4), spec_of(16, **workload), number_images(side=8)
    batches = train_batches(data, spec, 1, shard), evaluation_batches(data, spec, shard)
    for noise, real in zip(noise_batches(data, spec, shard), map(next, batches), strict=True):
        assert [(a.shape, a.dtype) for a in noise] == [(a.shape, a.dtype) for a in real]
        inputs, labels, *_ = noise
        assert not inputs.any()
        assert set(labels) == {0, 1, 2}
