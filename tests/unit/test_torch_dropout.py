"""The division tuned draws dropout's masks otherwise; what they do stays the same."""

import pytest
import torch
from made_images import make_images
from torch import nn
from workspace import make_spec

from paragone.engines.torch import Torch
from paragone.engines.torch_dropout import WordDropout, use_words

DATASET = make_images()


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.75])
def test_as_many_features_are_dropped_as_asked_for(probability):
    torch.manual_seed(0)
    found = WordDropout(probability)(torch.ones(1_000_001))
    deviation = (probability * (1 - probability) / 1e6) ** 0.5
    assert (found == 0).double().mean().item() == pytest.approx(probability, abs=5 * deviation)
    assert found.unique().tolist() == [0.0, pytest.approx(1 / (1 - probability))]


def test_halves_of_one_number_are_independent():
    torch.manual_seed(0)
    dropped = (WordDropout(0.5)(torch.ones(2_000_000)) == 0).double()
    first, second = dropped[0::2], dropped[1::2]
    assert (first * second).mean().item() == pytest.approx(0.25, abs=5 * 0.433e-3)


def test_a_seed_repeats_the_masks_and_each_call_has_its_own():
    features, dropout = torch.ones(1000), WordDropout(0.5)
    torch.manual_seed(3)
    first, second = dropout(features), dropout(features)
    torch.manual_seed(3)
    assert torch.equal(dropout(features), first)
    assert not torch.equal(first, second)


def test_what_is_dropped_has_no_gradient_and_the_layout_stays():
    features = torch.randn(4, 6, 5, 3).to(memory_format=torch.channels_last).requires_grad_()
    found = WordDropout(0.5)(features)
    found.sum().backward()
    assert found.stride() == features.stride()
    assert torch.equal(features.grad, torch.where(found == 0, 0.0, 2.0))


def test_features_that_share_memory_are_dropped_one_by_one():
    torch.manual_seed(0)
    found = WordDropout(0.5)(torch.ones(1, 100).expand(50, 100))
    assert not torch.equal(found[0], found[1])


def test_everything_is_dropped_at_one():
    assert not WordDropout(1.0)(torch.ones(100)).any()


def test_in_bfloat16_features_keep_their_precision():
    torch.manual_seed(0)
    found = WordDropout(0.5)(torch.ones(1000, dtype=torch.bfloat16))
    assert found.dtype == torch.bfloat16
    assert found.unique().tolist() == [0.0, 2.0]


def test_nothing_is_dropped_in_evaluation():
    features = torch.randn(100)
    assert WordDropout(0.5).eval()(features) is features


def test_every_dropout_of_a_model_is_replaced():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout(0.2), nn.ReLU()))
    use_words(model)
    (found,) = [one for one in model.modules() if isinstance(one, WordDropout)]
    assert found.p == 0.2
    assert not [one for one in model.modules() if isinstance(one, nn.Dropout)]


@pytest.mark.parametrize("division", ["as-installed", "tuned"])
def test_the_option_replaces_dropout_of_a_run(division):
    tuning = {"options": {"dropout_words": True}} if division == "tuned" else {}
    engine = Torch()
    engine.build(make_spec("wide-resnet", "torch", tuning=tuning), DATASET, 1)
    found = {type(one) for one in engine.model.modules() if "Dropout" in type(one).__name__}
    assert found == {WordDropout if tuning else nn.Dropout}
