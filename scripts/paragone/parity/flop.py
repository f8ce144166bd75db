"""The FLOP of training: counted once, on the reference's model, as all frameworks do the same work.

Only convolutions and matrix products count, as in the peak that they are compared with: a multiplication with
its addition is two. The rest of a model and the optimizer are not counted. The operations that a device runs
can differ: XLA may fuse or drop operations, cuDNN may choose Winograd.
"""

from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode, conv_flop_count

from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.models import create_model
from paragone.models.torch import MODELS

EXAMPLES = 2  # batch norm refuses one value per channel


def per_example(spec: Spec, dataset: Dataset) -> int:
    """Return the FLOP of training on one example, forward and backward. Computes shapes alone."""
    with torch.device("meta"):
        model = create_model(MODELS, spec, dataset)
    return count(model, dataset.train_inputs.shape[1:], word_indices=spec.workload.input is None)


def count(model: nn.Module, shape: tuple[int, ...], word_indices: bool = False) -> int:
    """Return the FLOP of one example for a model on the device "meta".

    `shape`: of one example as stored. `words`: whether inputs are word indices.
    """
    inputs = torch.empty((EXAMPLES, *shape), device="meta")
    inputs = inputs.long() if word_indices else inputs.movedim(-1, 1)
    formulas = {torch.ops.aten.convolution_backward: _convolution_backward}
    with FlopCounterMode(display=False, custom_mapping=formulas) as counter:
        model.train()(inputs).sum().backward()
    return counter.get_total_flops() // EXAMPLES


def _convolution_backward(
    gradient: list[int], inputs: list[int], weights: list[int], *rest: Any, **_: object
) -> int:
    """Return the FLOP of a convolution's backward pass: those of the forward pass for each gradient.

    PyTorch's own formula ignores groups: for a depthwise convolution its count is too large by the number
    of channels. `rest` ends with the mask of the gradients that are needed (inputs, weights, bias).
    """
    inputs_need, weights_need, _bias = rest[-1]
    return (inputs_need + weights_need) * conv_flop_count(inputs, weights, gradient)
