"""PyTorch, compiled: forward pass, loss and backward pass as one program each, by `torch.compile`.

The whole graph or an error: nothing here runs eager in silence. Inductor keeps its programs in
TORCHINDUCTOR_CACHE_DIR, by default a folder of a known name in /tmp, under a hash of graph, options and
versions, so a changed model is compiled anew.
"""

import os
from pathlib import Path

import torch
from torch._dynamo.utils import counters
from torch._inductor.cpp_builder import get_cpp_compiler
from torch._inductor.exc import InvalidCxxCompiler
from torch._inductor.runtime.cache_dir_utils import cache_dir

from paragone.base.engine_reports import Programs
from paragone.base.errors import Unavailable, UserError
from paragone.base.ranks import ALONE, World
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.engines.torch import Torch

STRATEGIES = {"single": "one worker"}
BATCH_NORM = "whole"
FEEDS = ("batches", "pinned", "resident")
TUNED = {"fused_optimizer": "all weights updated by one kernel (SGD, Adam)"}


class TorchCompile(Torch):
    """The eager engine with its passes compiled, for batches of one shape; the optimizer stays eager."""

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        """See `Engine.build`. Raises `Unavailable` without a C++ compiler."""
        super().build(spec, dataset, threads, world)
        try:
            get_cpp_compiler()
        except InvalidCxxCompiler:
            raise Unavailable(
                "torch.compile needs a C++ compiler: install g++, or set CXX"
            ) from None
        _own_cache()
        counters.clear()
        self._forward = torch.compile(super().forward, fullgraph=True, dynamic=False)
        self._loss = torch.compile(super().loss, fullgraph=True, dynamic=False)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """See `Torch.forward`."""
        return self._forward(inputs)

    def loss(self, inputs: torch.Tensor, labels: torch.Tensor) -> tuple:
        """See `Torch.loss`."""
        return self._loss(inputs, labels)

    def programs(self) -> Programs:
        """See `Engine.programs`."""
        found = counters["inductor"]
        missed = found["fxgraph_cache_miss"] + found["fxgraph_cache_bypass"]
        return Programs(compiled=missed, cached=found["fxgraph_cache_hit"])


ENGINE = TorchCompile


def _own_cache() -> None:
    """Programs of the cache are executed: nobody else may put one there. Raises `UserError`."""
    folder = Path(cache_dir())
    if folder.stat().st_uid != os.geteuid():
        raise UserError(
            f"TORCHINDUCTOR_CACHE_DIR: {folder} belongs to another user, whose programs would be executed; "
            "set it to a folder of your own"
        )
    folder.chmod(0o700)
