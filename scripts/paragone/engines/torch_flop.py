"""FLOP of a PyTorch model, by `torch.utils.flop_counter`: it knows convolutions and products."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode, conv_flop_count

from paragone.base.engine_reports import FlopCount

_BATCH = 2  # batch norm refuses a single value a channel


def count(model: nn.Module, shape: tuple[int, ...], words: bool = False) -> FlopCount:
    """FLOP of one example of `shape`, as stored, in training mode; `words`: of word indices.

    The model has to be on the device "meta", where shapes are computed and nothing else. What a
    device really runs can differ: XLA may fuse or drop operations, cuDNN may choose Winograd.
    """
    inputs = torch.empty((_BATCH, *shape), device="meta")
    inputs = inputs.long() if words else inputs.movedim(-1, 1)
    labels = torch.zeros(_BATCH, dtype=torch.long, device="meta")
    formulas = {torch.ops.aten.convolution_backward: _convolution_backward}
    with FlopCounterMode(display=False, custom_mapping=formulas) as counter:
        functional.cross_entropy(model.train()(inputs), labels).backward()
    return FlopCount(counter.get_total_flops() // _BATCH, "torch.utils.flop_counter")


def _convolution_backward(
    gradient: list[int], inputs: list[int], weights: list[int], *rest: Any, **_: object
) -> int:
    """For the gradient of the inputs and that of the weights each as much as the convolution takes.

    PyTorch's own formula forgets the groups: for a depthwise convolution it counts as many times too
    much as there are channels. `rest` ends with the mask of the gradients that are wanted.
    """
    of_inputs, of_weights, _bias = rest[-1]
    return (of_inputs + of_weights) * conv_flop_count(inputs, weights, gradient)
