"""FLOP of training on one example as PyTorch counts them, by hand; the other frameworks: nightly."""

import pytest
import torch
from torch import nn

from paragone.engines.torch import count_flop
from paragone.models.torch import MODELS

# A multiplication and an addition for each weight and value. 28 x 28 x 1 -> 3 x 3 convolution of 64 ->
# 26 x 26 x 64 -> pooled to 13 x 13 x 64 -> dense 10.
CONVOLUTION, DENSE = 2 * 26 * 26 * 64 * (3 * 3 * 1), 2 * (13 * 13 * 64) * 10
POINTWISE, DEPTHWISE = 2 * 8 * 8 * 32, 2 * 8 * 8 * 32 * 9


def depthwise() -> nn.Module:
    """PyTorch's own formula would say 32 times as much for the gradients of the second layer."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 1), nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Flatten()
    )


@pytest.mark.parametrize(
    ("create", "shape", "by_hand"),
    [
        (lambda: MODELS["fashion-conv"]((28, 28, 1), 10), (28, 28, 1), 2 * CONVOLUTION + 3 * DENSE),
        (depthwise, (8, 8, 1), 2 * POINTWISE + 3 * DEPTHWISE),
    ],
)
def test_forward_and_both_gradients_but_those_of_the_data(create, shape, by_hand):
    with torch.device("meta"):
        model = create()
    assert count_flop(model, shape).per_example == by_hand
