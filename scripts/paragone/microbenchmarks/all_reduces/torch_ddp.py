"""All-reduce of `torch.distributed`: one process per replica, over gloo or NCCL."""

import numpy as np
import torch
from torch import distributed

from paragone.base.ranks import World
from paragone.engines import torch_devices


class _Group:
    def __init__(self, rank: int, device: torch.device) -> None:
        self._rank, self._device = rank, device
        self.device_names = [str(device)]

    def put(self, elements: int) -> torch.Tensor:
        return torch.full((elements,), self._rank + 1.0, device=self._device)

    def all_reduce(self, vectors: torch.Tensor) -> torch.Tensor:
        distributed.all_reduce(vectors)  # in place, as DDP does with its buckets
        return vectors

    def wait(self, sums: torch.Tensor) -> None:
        if sums.is_cuda:
            torch.cuda.synchronize()

    def fetch(self, sums: torch.Tensor) -> list[np.ndarray]:
        return [sums.cpu().numpy()]


def open_group(backend: dict[str, str], replicas: int, world: World, threads: int) -> _Group:
    """See `microbenchmarks.all_reduces`."""
    torch.set_num_threads(threads)
    device, _ = torch_devices.open_device(backend["device"], world)
    torch_devices.join(world, device)
    return _Group(world.rank, device)
