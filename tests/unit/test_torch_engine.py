"""The eager PyTorch engine on a few made-up images: what must leave no trace leaves none."""

import copy

import pytest
import torch
from made_images import make_images
from workspace import CONFIG, make_spec

from paragone.base.typed_json import typed
from paragone.config.run_spec import Tuned
from paragone.data.batches import evaluation_batches, noise_batches, train_batches
from paragone.engines.torch import Torch

SPEC = make_spec("fashion-cnn", "torch", global_batch=16, steps_per_epoch=None)
DATASET = make_images()


@pytest.fixture
def engine() -> Torch:
    """Built, and trained for an epoch: with batch-norm statistics and moments of the optimizer."""
    made = Torch()
    made.build(SPEC, DATASET, 1)
    made.train_epoch(0, 0.01, train_batches(DATASET, SPEC, 1), 4)
    return made


def state(engine: Torch) -> list[torch.Tensor]:
    """Weights, statistics and moments."""
    moments = engine.optimizer.state_dict()["state"].values()
    tensors = [*engine.model.state_dict().values(), *(t for each in moments for t in each.values())]
    return copy.deepcopy(tensors)


def same(engine: Torch, before: list[torch.Tensor]) -> bool:
    return all(map(torch.equal, state(engine), before))


def test_evaluation_and_warm_up_leave_weights_statistics_and_moments_and_training_does_not(engine):
    before = state(engine)
    engine.model.train()
    first, second = (engine.evaluate(evaluation_batches(DATASET, SPEC), 1) for _ in range(2))
    assert first == second
    assert same(engine, before)
    engine.warm_up(0.01, *noise_batches(DATASET, SPEC))
    assert same(engine, before)
    engine.train_epoch(0, 0.01, train_batches(DATASET, SPEC, 2), 4)
    assert not same(engine, before)


def test_a_tuned_optimizer_goes_on_from_a_file_as_if_it_had_not_stopped(tmp_path):
    tuned = {"tuning": typed(Tuned, CONFIG["backends"]["torch"]["tuned"]), "steps_per_epoch": None}
    spec = make_spec("fashion-conv", "torch", global_batch=16, **tuned)
    whole, resumed = Torch(), Torch()
    for engine in (whole, resumed):
        engine.build(spec, DATASET, 1)
    whole.train_epoch(0, 0.01, train_batches(DATASET, spec, 1), 4)
    whole.save(tmp_path)
    resumed.load(tmp_path)
    for engine in (whole, resumed):
        engine.train_epoch(0, 0.01, train_batches(DATASET, spec, 2), 4)
    assert whole.optimizer.param_groups[0]["fused"]
    assert same(resumed, state(whole))
