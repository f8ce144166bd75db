"""What PyTorch's strategies over processes share: one replica a worker, over gloo or NCCL.

Batch norm normalizes each replica's part of the batch. Its running statistics are those of rank 0;
MirroredStrategy takes the mean over replicas.
"""

import torch
from torch import distributed

from paragone.base.engine_reports import Devices, Metrics
from paragone.base.ranks import World
from paragone.config.run_spec import Spec
from paragone.data.batches import Shard
from paragone.engines import torch_devices
from paragone.engines.torch import Torch


class TorchWorkers(Torch):
    """The eager engine on this worker's part of each batch."""

    def open_device(self, spec: Spec, threads: int, world: World) -> torch.device:
        """Open this worker's device and the process group of all."""
        torch.set_num_threads(threads)
        device, name = torch_devices.open_device(spec.backend["device"], world)
        torch_devices.join(world, device)
        workers = distributed.get_world_size()
        self.devices = Devices(spec.backend["device"], workers, workers)
        self.device_names = [name]
        self.shard = Shard(world.rank, world.rank + 1, workers)
        return device

    def add_squares(self, squares: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """See `Torch.add_squares`; those of a replica weigh 1 / replicas in the global batch."""
        distributed.all_reduce(squares)
        return squares / self.devices.workers**2

    def end_of_epoch(self) -> None:
        """Give every worker the batch-norm statistics of rank 0, with which all evaluate."""
        for buffer in self.model.buffers():
            distributed.broadcast(buffer, src=0)

    def metrics(self, totals: torch.Tensor) -> Metrics:
        distributed.all_reduce(totals)
        return super().metrics(totals)
