"""The eager PyTorch engine on a few made-up images: what must leave no trace leaves none."""

import copy

import numpy as np
import pytest
import torch
from workspace import CONFIG, make_spec

from paragone.data import Dataset
from paragone.data.batches import evaluation_batches, noise_batches, train_batches
from paragone.engines.torch import Torch

SPEC = make_spec("fashion-cnn", "torch", global_batch=16, steps_per_epoch=None)


def dataset() -> Dataset:
    random = np.random.default_rng(0)

    def split(examples: int) -> tuple[np.ndarray, np.ndarray]:
        images = random.integers(0, 256, (examples, 28, 28, 1), np.uint8)
        return images, random.integers(0, 10, examples, np.int32)

    names = tuple("abcdefghij")
    return Dataset("d", "real", "e", *split(64), *split(64), names, None, "0" * 64)


@pytest.fixture
def engine() -> Torch:
    """Built, and trained for an epoch: with batch-norm statistics and moments of the optimizer."""
    made = Torch()
    made.build(SPEC, dataset(), 1)
    made.train_epoch(0, 0.01, train_batches(dataset(), SPEC, 1), 4)
    return made


def state(engine: Torch) -> list[torch.Tensor]:
    """Weights, statistics and moments."""
    moments = engine.optimizer.state_dict()["state"].values()
    tensors = [*engine.model.state_dict().values(), *(t for one in moments for t in one.values())]
    return copy.deepcopy(tensors)


def same(engine: Torch, before: list[torch.Tensor]) -> bool:
    return all(map(torch.equal, state(engine), before))


def test_evaluation_changes_nothing_and_repeats_itself(engine):
    before = state(engine)
    engine.model.train()
    first, second = (engine.evaluate(evaluation_batches(dataset(), SPEC), 1) for _ in range(2))
    assert first == second
    assert same(engine, before)


def test_warm_up_restores_weights_statistics_and_moments(engine):
    before = state(engine)
    engine.warm_up(0.01, *noise_batches(dataset(), SPEC))
    assert same(engine, before)


def test_training_changes_what_the_others_restore(engine):
    before = state(engine)
    engine.train_epoch(0, 0.01, train_batches(dataset(), SPEC, 2), 4)
    assert not same(engine, before)


def test_a_tuned_optimizer_goes_on_from_a_file_as_if_it_had_not_stopped(tmp_path):
    tuned = {"tuning": CONFIG["backends"]["torch"]["tuned"], "steps_per_epoch": None}
    spec = make_spec("fashion-conv", "torch", global_batch=16, **tuned)
    one, other = Torch(), Torch()
    for engine in (one, other):
        engine.build(spec, dataset(), 1)
    one.train_epoch(0, 0.01, train_batches(dataset(), spec, 1), 4)
    one.save(tmp_path)
    other.load(tmp_path)
    for engine in (one, other):
        engine.train_epoch(0, 0.01, train_batches(dataset(), spec, 2), 4)
    assert one.optimizer.param_groups[0]["fused"]
    assert same(other, state(one))
