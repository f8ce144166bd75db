"""PyTorch's DistributedDataParallel: a whole model on each worker, gradients averaged over all.

DDP broadcasts the running statistics of rank 0 before each step.
"""

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from paragone.base.engine_reports import Devices, Metrics
from paragone.base.ranks import ALONE, World
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import Shard
from paragone.engines import torch_devices
from paragone.engines.torch import Torch


class TorchWorkers(Torch):
    """The eager engine on this worker's part of each batch, over gloo or NCCL: base of DDP and FSDP.

    Batch norm normalizes each replica's part of the batch. All workers evaluate with the running statistics
    of rank 0; MirroredStrategy takes the mean over replicas.
    """

    def open_device(self, spec: Spec, threads: int, world: World) -> torch.device:
        """Open this worker's device and the process group."""
        torch.set_num_threads(threads)
        device, name = torch_devices.open_device(spec.backend.device, world)
        torch_devices.join(world, device)
        workers = distributed.get_world_size()
        self.devices = Devices(spec.backend.device, workers, workers)
        self.device_names = [name]
        self.shard = Shard(world.rank, world.rank + 1, workers)
        return device

    def add_squares(self, squares: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Gradients of a replica weigh 1 / replicas in the global batch, their squares 1 / replicas^2."""
        distributed.all_reduce(squares)
        return squares / self.devices.workers**2

    def per_replica(self, total: torch.Tensor) -> torch.Tensor:
        distributed.all_reduce(total)
        return total / self.devices.workers

    def end_of_epoch(self) -> None:
        """Give every worker the batch-norm statistics of rank 0."""
        for buffer in self.model.buffers():
            distributed.broadcast(buffer, src=0)

    def metrics(self, totals: torch.Tensor) -> Metrics:
        distributed.all_reduce(totals)
        return super().metrics(totals)


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
        """Only training passes go through the wrapper, which synchronizes gradients."""
        self.replica = self.wrapped if self.model.training else self.model
        return super().forward(inputs)


ENGINE = TorchDDP
