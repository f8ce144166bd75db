"""PyTorch's DistributedDataParallel: a whole model on each worker, gradients averaged over all.

DDP broadcasts the running statistics of rank 0 before each step.
"""

import torch
from torch.nn.parallel import DistributedDataParallel

from paragone.base.ranks import ALONE, World
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.engines.torch_workers import TorchWorkers

STRATEGIES = {"ddp": "one replica each"}
BATCH_NORM = "first"
FEEDS = ("batches", "pinned", "resident")


class TorchDDP(TorchWorkers):
    """The eager engine with its model wrapped while it trains."""

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        """See `Engine.build`."""
        super().build(spec, dataset, threads, world)
        devices = [self.device] if self.device.type == "cuda" else None
        self.wrapped = DistributedDataParallel(self.model, device_ids=devices)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """See `Torch.forward`; only training goes through the wrapper, which synchronizes."""
        self.replica = self.wrapped if self.model.training else self.model
        return super().forward(inputs)


ENGINE = TorchDDP
