"""PyTorch's optimizers against their rules, written out in double precision; their state can be kept."""

import copy
from collections import defaultdict

import pytest
import torch
from torch import nn

from paragone.engines import torch_optimizers
from paragone.engines.reference import RULES
from paragone.engines.torch_optimizers import averages, create_optimizer

RATE, BETA_1, BETA_2, EPSILON = 0.1, 0.9, 0.999, 1e-7
ADAM = {"name": "adam", "beta_1": BETA_1, "beta_2": BETA_2, "epsilon": EPSILON}
NADAM = {**ADAM, "name": "nadam"}
WORDS = torch.tensor([[0, 2, 2], [2, 1, 0]])  # word 2 three times, word 3 never


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


def output_gradient(step: int) -> torch.Tensor:
    return torch.arange(1.0, 7.0).sin().reshape(2, 3, 1) * step


def nadam_by_hand(deduplicate: bool, steps: int) -> torch.Tensor:
    """Nadam as Keras computes it (Dozat, 2016), from the gradients of the embedding's output."""
    weight = moment = square = torch.zeros(4)
    product = 1.0
    for step in range(1, steps + 1):
        occurrences = output_gradient(step).flatten()
        gradient = torch.zeros(4).index_add(0, WORDS.flatten(), occurrences)
        apart = torch.zeros(4).index_add(0, WORDS.flatten(), occurrences**2)
        now, after = (BETA_1 * (1 - 0.5 * 0.96**t) for t in (step, step + 1))
        product *= now
        moment = BETA_1 * moment + (1 - BETA_1) * gradient
        square = BETA_2 * square + (1 - BETA_2) * (gradient**2 if deduplicate else apart)
        ahead = after * moment / (1 - product * after) + (1 - now) * gradient / (1 - product)
        weight = weight - RATE * ahead / ((square / (1 - BETA_2**step)).sqrt() + EPSILON)
    return weight


@pytest.mark.parametrize("deduplicate", [True, False])
def test_nadam_of_repeated_words(deduplicate):
    model = nn.Sequential(nn.Embedding(4, 1))
    nn.init.zeros_(model[0].weight)
    optimizer = create({**NADAM, "deduplicate": deduplicate}, model)
    for step in (1, 2, 3):
        optimizer.zero_grad()
        (model(WORDS) * output_gradient(step)).sum().backward()
        optimizer.step()
        weight = model[0].weight.detach().flatten()
        torch.testing.assert_close(weight, nadam_by_hand(deduplicate, step), rtol=1e-12, atol=1e-12)
    assert not torch.allclose(weight, nadam_by_hand(not deduplicate, 3), rtol=0.1)


def test_nadam_of_keras_2_moves_the_words_of_the_batch():
    """A word that the batch lacks stays, while its moments decay; they move one whose gradient is 0."""
    model = nn.Sequential(nn.Embedding(3, 1))
    nn.init.zeros_(model[0].weight)
    options = {**NADAM, "rule": "keras-2"}
    optimizer, state = create(options, model), defaultdict(float)
    expected = torch.zeros(3, 1)
    batches = [([0, 1, 1], [1.0, 2.0, -3.0]), ([0, 2, 2], [0.0, 1.0, 1.0]), ([1], [0.5])]
    for step, (words, gradients) in enumerate(batches, start=1):
        optimizer.zero_grad()
        (model(torch.tensor([words])).flatten() @ torch.tensor(gradients)).backward()
        gradient = model[0].weight.grad.clone()
        optimizer.step()
        move = RULES["nadam"](options, step, gradient, gradient**2, state)
        expected[words] -= RATE * move[words]
        torch.testing.assert_close(model[0].weight.detach(), expected, rtol=1e-12, atol=1e-12)


def test_adam_adds_epsilon_before_the_bias_correction():
    """As Keras has it; gradients of the size of epsilon show the difference."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    optimizer = create(ADAM, model)
    weight = moment = square = 0.0
    for step in (1, 2, 3):
        gradient = step * EPSILON
        model.weight.grad = torch.full((1, 1), gradient)
        optimizer.step()
        moment = BETA_1 * moment + (1 - BETA_1) * gradient
        square = BETA_2 * square + (1 - BETA_2) * gradient**2
        rate = RATE * (1 - BETA_2**step) ** 0.5 / (1 - BETA_1**step)
        weight -= rate * moment / (square**0.5 + EPSILON)
        assert model.weight.item() == pytest.approx(weight, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "fused"),
    [
        (ADAM, False),
        ({**NADAM, "deduplicate": True}, False),
        ({**NADAM, "deduplicate": False}, False),
        ({**NADAM, "rule": "keras-2"}, False),
        ({"name": "sgd", "momentum": 0.5, "accumulate": 3, "average": 0.9}, True),
        ({"name": "sgd", "momentum": 0.5, "dampening": 0.5}, False),
        ({"name": "rmsprop", "rho": 0.9, "epsilon": 1e-2, "centered": True}, False),
        ({"name": "adagrad", "initial": 0.1, "epsilon": 1e-2}, False),
        ({**ADAM, "epsilon": 1e-2}, True),  # of which the fused rule adds it elsewhere
    ],
    ids=str,
)
def test_a_kept_state_goes_on_and_the_fused_rule_is_the_same(options, fused):
    """Kept as a checkpoint does; with what PyTorch counts or multiplies up beside the arrays."""
    models = [nn.Sequential(nn.Embedding(3, 2), nn.Linear(2, 2)) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    plain, kept = create(options, models[0]), create(options, models[1], fused=fused)
    assert [bool(each.param_groups[0].get("fused")) for each in (plain, kept)] == [False, fused]
    for number in range(1, 5):
        if number == 3:
            state = copy.deepcopy(kept.state_dict())
            kept = create(options, models[1], fused=fused)
            torch_optimizers.load_state(kept, state)
        for model, optimizer in zip(models, (plain, kept), strict=True):
            optimizer.zero_grad()
            (model(torch.tensor([0, 1, 1])).cos() * number).sum().backward()
            torch_optimizers.step(optimizer, options)
    tolerance = 1e-12 if fused else 0.0
    pairs = [*zip(models[0].parameters(), models[1].parameters(), strict=True)]
    pairs += zip(*([a for _, a in averages(each)] for each in (plain, kept)), strict=True)
    for weights in pairs:
        torch.testing.assert_close(*weights, rtol=tolerance, atol=tolerance)


def test_a_loaded_state_counts_steps_in_the_precision_of_the_weights():
    """PyTorch rounds the count of an optimizer on a device, and with it 1 - beta_2^t, to single precision."""
    optimizer = create({**NADAM, "deduplicate": True}, nn.Linear(1, 1))
    optimizer.param_groups[0]["capturable"] = True
    torch_optimizers.load_state(optimizer, copy.deepcopy(optimizer.state_dict()))
    assert {value.dtype for own in optimizer.state.values() for value in own.values()} == {
        torch.float64
    }
