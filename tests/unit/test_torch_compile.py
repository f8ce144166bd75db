"""Compiled PyTorch: the whole graph, or an error."""

import pytest
import torch
from made_images import make_images
from torch import nn
from torch._dynamo.exc import Unsupported
from workspace import make_spec

from paragone.data.batches import train_batches
from paragone.engines import torch as eager
from paragone.engines.torch_compile import TorchCompile


class Broken(nn.Module):
    """A model whose forward pass no compiler takes whole."""

    def __init__(self) -> None:
        super().__init__()
        self.classifier = nn.Linear(784, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return self.classifier(images.flatten(1))


def test_a_graph_that_breaks_is_an_error(monkeypatch):
    """A part that ran eager in silence would be timed as compiled."""
    monkeypatch.setitem(eager.MODELS, "fashion-conv", lambda shape, classes: Broken())
    spec = make_spec("fashion-conv", "torch-compile", 1, global_batch=4, steps_per_epoch=1)
    dataset, engine = make_images(), TorchCompile()
    engine.build(spec, dataset, 1)
    with pytest.raises(Unsupported, match="graph_break"):
        engine.train_epoch(0, 0.1, train_batches(dataset, spec, 1), 1)
