"""All-reduce of PyTorch/XLA SPMD: a sum over the axis that is split over the mesh, kept everywhere."""

import os

import numpy as np
import torch

from paragone.base.errors import Unavailable
from paragone.microbenchmarks.all_reduces import Place

# An import without it asks every plug-in for devices.
os.environ.setdefault("PJRT_DEVICE", "CPU")

import torch_xla
from torch_xla import runtime
from torch_xla.core import xla_model
from torch_xla.distributed import spmd


class _Group:
    def __init__(self, replicas: int) -> None:
        self._mesh = spmd.Mesh(np.arange(replicas), (replicas,), ("data",))
        self._replicas = replicas
        attributes = runtime.global_runtime_device_attributes()
        self.device_names = [str(one["name"]) for one in attributes]

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


def open_group(backend: dict[str, str], place: Place, threads: int) -> _Group:
    """See `microbenchmarks.all_reduces`; `threads` is set by the process's affinity."""
    kind = backend["device"]
    os.environ["PJRT_DEVICE"] = {"cpu": "CPU", "gpu": "CUDA", "tpu": "TPU"}[kind]
    if kind == "cpu":
        os.environ["CPU_NUM_DEVICES"] = str(place.replicas)
    runtime.use_spmd()
    try:
        present = runtime.global_runtime_device_count()
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise Unavailable(f"PyTorch/XLA finds no {kind}: {reason}") from error
    if present != place.replicas:
        raise Unavailable(f"{place.replicas} replicas asked for; PyTorch/XLA has {present}")
    return _Group(present)
