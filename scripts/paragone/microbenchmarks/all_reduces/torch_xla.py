"""All-reduce of PyTorch/XLA SPMD: a sum over the axis that is split over the mesh, kept everywhere."""

import numpy as np
import torch
import torch_xla
from torch_xla.core import xla_model
from torch_xla.distributed import spmd

from paragone.base.ranks import World
from paragone.engines.torch_xla_devices import open_mesh


class _Group:
    def __init__(self, mesh: spmd.Mesh, device_names: list[str]) -> None:
        self._mesh, self._replicas = mesh, len(device_names)
        self.device_names = device_names

    def put(self, elements: int) -> torch.Tensor:
        values = torch.arange(1.0, self._replicas + 1).repeat_interleave(elements)
        split = spmd.ShardingSpec(self._mesh, ("data", None))
        host = values.reshape(self._replicas, elements)
        return xla_model.send_cpu_data_to_device(host, torch_xla.device(), split)[0]

    def all_reduce(self, vectors: torch.Tensor) -> torch.Tensor:
        sums = vectors.sum(0)
        spmd.mark_sharding(sums, self._mesh, (None,))  # whole on every replica: XLA must reduce
        torch_xla.sync()
        return sums

    def wait(self, sums: torch.Tensor) -> None:
        xla_model.wait_device_ops()

    def fetch(self, sums: torch.Tensor) -> list[np.ndarray]:
        return [sums.cpu().numpy()] * self._replicas


def open_group(backend: dict[str, str], replicas: int, world: World, threads: int) -> _Group:
    """See `microbenchmarks.all_reduces`; `threads` is set by the process's affinity."""
    return _Group(*open_mesh(backend["device"], replicas))
