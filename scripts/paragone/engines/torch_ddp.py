"""PyTorch's DistributedDataParallel: a whole model on each worker, gradients averaged over all.

DDP broadcasts the running statistics of rank 0 before each step.
"""

import atexit
import os
import socket
from datetime import timedelta

import psutil
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from paragone.base.engine_reports import ALONE, Devices, Metrics, World
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import Shard
from paragone.engines.torch import Torch, open_device


class TorchWorkers(Torch):
    """The eager engine on this worker's part of each batch, over gloo or NCCL: base of DDP and FSDP.

    Batch norm normalizes each replica's part of the batch. All workers evaluate with the running statistics
    of rank 0; MirroredStrategy takes the mean over replicas.
    """

    def open_device(self, spec: Spec, threads: int, world: World) -> torch.device:
        """Open this worker's device and the process group."""
        torch.set_num_threads(threads)
        device, name = open_device(spec.backend.device, world)
        _join(world, device)
        workers = distributed.get_world_size()
        self.devices = Devices(spec.backend.device, workers, workers)
        self.device_names = [name]
        self.shard = Shard(world.rank, world.rank + 1, workers)
        return device

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
            find_unused_parameters=self.has_unused(dataset),
        )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Only training passes go through the wrapper, which synchronizes gradients."""
        self.replica = self.wrapped if self.model.training else self.model
        return super().forward(inputs)


ENGINE = TorchDDP


def _join(world: World, device: torch.device) -> None:
    """Open the process group unless it is open; on one host, over the loopback interface only."""
    if distributed.is_initialized():
        return
    for variable in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        if world.on_one_host:
            os.environ[variable] = "lo"
            continue
        address, _ = world.address(world.rank)
        for interface, entries in psutil.net_if_addrs().items():
            if address in [entry.address for entry in entries]:
                os.environ.setdefault(variable, interface)
    distributed.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        store=_store(world),
        rank=world.rank,
        world_size=world.workers,
        timeout=timedelta(seconds=world.timeout),
    )
    atexit.register(distributed.destroy_process_group)


def _store(world: World) -> distributed.Store:
    """Return the store in which workers exchange their addresses. Rank 0 serves it, bound to its own address.

    By default the store would listen on all interfaces.
    """
    if world.workers == 1:
        return distributed.HashStore()
    host, port = world.address(0)
    listener = socket.create_server((host, port)).detach() if world.rank == 0 else None
    return distributed.TCPStore(
        host,
        port,
        world.workers,
        is_master=world.rank == 0,
        timeout=timedelta(seconds=world.timeout),
        master_listen_fd=listener,
        wait_for_workers=False,
    )
