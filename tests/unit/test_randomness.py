"""The order of the examples: a permutation, keyed by seed and epoch alone."""

import numpy as np
import pytest

from paragone.data.random_streams import epoch_order, framework_seed, generator


@pytest.mark.parametrize("examples", [1, 2, 1000, 60_000])
def test_an_order_is_a_permutation_and_the_same_in_every_call(examples):
    order = epoch_order(examples, 7, 3)
    assert np.array_equal(np.sort(order), np.arange(examples))
    assert np.array_equal(order, epoch_order(examples, 7, 3))


def test_an_order_stays_what_it_was():
    """Records of other days were made with this order."""
    assert epoch_order(10, 0, 1).tolist() == [3, 6, 4, 8, 1, 9, 2, 5, 7, 0]


def test_orders_are_shuffled_and_those_of_seeds_epochs_and_purposes_differ():
    """(seed 1, epoch 2) and (seed 2, epoch 1) included, and large seeds."""
    orders = {tuple(epoch_order(100, seed, epoch)) for seed in range(5) for epoch in range(1, 6)}
    assert len(orders) == 25
    assert not np.array_equal(epoch_order(100, 2**31 - 1, 1), epoch_order(100, 2**31 - 2, 1))
    order = epoch_order(10_000, 0, 1)
    assert abs(np.corrcoef(order, np.arange(10_000))[0, 1]) < 0.05
    assert np.count_nonzero(order == np.arange(10_000)) < 10
    first, second = (generator(purpose, 0, 1).random(100) for purpose in ("order", "weights"))
    assert not np.intersect1d(first, second).size


def test_framework_seeds_fit_every_framework_and_differ():
    seeds = [framework_seed(seed, epoch) for seed in range(10) for epoch in range(10)]
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) == 100
