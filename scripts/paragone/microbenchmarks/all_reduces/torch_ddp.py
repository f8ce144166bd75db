"""All-reduce of `torch.distributed`: a process a replica, over gloo or NCCL."""

import os
from datetime import timedelta

import numpy as np
import torch
from torch import distributed

from paragone.base.errors import Unavailable
from paragone.microbenchmarks.all_reduces import Place

_PATIENCE = timedelta(seconds=60)  # for a process that never joins


class _Group:
    def __init__(self, place: Place, device: torch.device) -> None:
        self._rank, self._device = place.rank, device
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


def open_group(backend: dict[str, str], place: Place, threads: int) -> _Group:
    """See `microbenchmarks.all_reduces`."""
    kind = backend["device"]
    if kind == "gpu" and torch.cuda.device_count() < place.replicas:
        raise Unavailable(f"{place.replicas} gpus needed; PyTorch sees {torch.cuda.device_count()}")
    if kind == "tpu":
        raise Unavailable("PyTorch sees no tpu")
    torch.set_num_threads(threads)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"  # all workers are on this host
    device = torch.device("cuda", place.rank) if kind == "gpu" else torch.device("cpu")
    distributed.init_process_group(
        "nccl" if kind == "gpu" else "gloo",
        init_method=f"file://{place.folder}/rendezvous",
        rank=place.rank,
        world_size=place.workers,
        timeout=_PATIENCE,
    )
    return _Group(place, device)
