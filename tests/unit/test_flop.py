"""FLOP of training on one example as PyTorch counts them, by hand."""

import torch
from torch import nn

from paragone.engines.torch import count_flop
from paragone.models.torch import MODELS


def test_fashion_conv_by_hand():
    """28 x 28 x 1 -> 3 x 3 convolution of 64 -> 26 x 26 x 64 -> pooled to 13 x 13 x 64 -> dense 10."""
    convolution = (
        2 * 26 * 26 * 64 * (3 * 3 * 1)
    )  # one multiplication and addition a weight and value
    dense = 2 * (13 * 13 * 64) * 10
    assert (convolution, dense) == (778_752, 216_320)
    # Forward; the gradient of the weights, as much again; of the inputs, only where they are not data.
    by_hand = 2 * convolution + 3 * dense
    assert by_hand == 2_206_464
    with torch.device("meta"):
        model = MODELS["fashion-conv"]((28, 28, 1), 10)
    assert count_flop(model, (28, 28, 1)).per_example == by_hand


def test_a_depthwise_convolution_is_counted_by_its_groups():
    """PyTorch's own formula would say 32 times as much for the gradients of the second one."""
    with torch.device("meta"):
        model = nn.Sequential(
            nn.Conv2d(1, 32, 1), nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Flatten()
        )
    pointwise, depthwise = 2 * 8 * 8 * 32, 2 * 8 * 8 * 32 * 9
    assert count_flop(model, (8, 8, 1)).per_example == 2 * pointwise + 3 * depthwise
