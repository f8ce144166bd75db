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
TUNED = {
    "fused_optimizer": "all weights updated by one kernel (SGD, Adam)",
    "cudnn_benchmark": "convolution algorithms chosen by trial",
    "gradient_as_bucket_view": "gradients are views of what is reduced, and not copied",
    "static_graph": "the same weights are used in every step",
}


class TorchDDP(TorchWorkers):
    """The eager engine with its model wrapped while it trains."""

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        super().build(spec, dataset, threads, world)
        devices = [self.device] if self.device.type == "cuda" else None
        self.wrapped = DistributedDataParallel(
            self.model,
            device_ids=devices,
            gradient_as_bucket_view=bool(spec.tuned("gradient_as_bucket_view")),
            static_graph=bool(spec.tuned("static_graph")),
        )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """See `Torch.forward`; only training goes through the wrapper, which synchronizes."""
        self.replica = self.wrapped if self.model.training else self.model
        return super().forward(inputs)


ENGINE = TorchDDP
