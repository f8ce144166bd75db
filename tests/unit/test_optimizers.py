"""PyTorch's optimizers in double precision: fused ones, and what a loaded state counts."""

import copy

import pytest
import torch
from torch import nn

from paragone.engines import torch_optimizers
from paragone.engines.torch_optimizers import averages, create_optimizer

RATE, BETA_1, BETA_2, EPSILON = 0.1, 0.9, 0.999, 1e-7
ADAM = {"name": "adam", "beta_1": BETA_1, "beta_2": BETA_2, "epsilon": EPSILON}
NADAM = {**ADAM, "name": "nadam"}


@pytest.fixture(autouse=True)
def double_precision():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def create(options: dict, model: nn.Module, **tuned: bool) -> torch.optim.Optimizer:
    cpu = torch.device("cpu")
    optimizer = create_optimizer(options, model, cpu, lambda squares, _: squares, **tuned)
    for group in optimizer.param_groups:
        group["lr"] = RATE
    return optimizer


@pytest.mark.parametrize(
    "options",
    [
        {"name": "sgd", "momentum": 0.5, "accumulate": 3, "average": 0.9},
        {**ADAM, "epsilon": 1e-2},  # of which the fused rule adds it elsewhere
    ],
    ids=str,
)
def test_the_fused_rule_is_the_same_and_goes_on_from_a_kept_state(options):
    """Kept as a checkpoint does; with what PyTorch counts beside the arrays."""
    models = [nn.Sequential(nn.Embedding(3, 2), nn.Linear(2, 2)) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    plain, kept = create(options, models[0]), create(options, models[1], fused=True)
    assert [bool(each.param_groups[0].get("fused")) for each in (plain, kept)] == [False, True]
    for number in range(1, 5):
        if number == 3:
            state = copy.deepcopy(kept.state_dict())
            kept = create(options, models[1], fused=True)
            torch_optimizers.load_state(kept, state)
        for model, optimizer in zip(models, (plain, kept), strict=True):
            optimizer.zero_grad()
            (model(torch.tensor([0, 1, 1])).cos() * number).sum().backward()
            torch_optimizers.step(optimizer, options)
    pairs = [*zip(models[0].parameters(), models[1].parameters(), strict=True)]
    pairs += zip(*([a for _, a in averages(each)] for each in (plain, kept)), strict=True)
    for weights in pairs:
        torch.testing.assert_close(*weights, rtol=1e-12, atol=1e-12)


def test_a_loaded_state_counts_steps_in_the_precision_of_the_weights():
    """PyTorch rounds the count of an optimizer on a device, and with it 1 - beta_2^t, to single precision."""
    optimizer = create({**NADAM, "deduplicate": True}, nn.Linear(1, 1))
    optimizer.param_groups[0]["capturable"] = True
    torch_optimizers.load_state(optimizer, copy.deepcopy(optimizer.state_dict()))
    assert {value.dtype for own in optimizer.state.values() for value in own.values()} == {
        torch.float64
    }
