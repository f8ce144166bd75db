"""PyTorch's DistributedDataParallel: one replica a worker, gradients averaged over gloo or NCCL.

Batch norm normalises each replica's part of the batch. Its running statistics are those of rank 0,
whose buffers DDP hands to all before each step; MirroredStrategy takes the mean over replicas.
"""

import atexit
import os
import socket
from datetime import timedelta

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from paragone.base.engine_reports import Devices, Metrics
from paragone.base.errors import Unavailable
from paragone.base.ranks import ALONE, COLLECTIVE_TIMEOUT, World
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import Shard
from paragone.data.random_streams import framework_seed
from paragone.engines.torch import Torch
from paragone.machine.network import interface_of

LOOPBACK_INTERFACE = "lo"
STRATEGIES = {"ddp": "one replica each"}


class TorchDDP(Torch):
    """The eager engine with its model wrapped while it trains."""

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        """See `Engine.build`."""
        super().build(spec, dataset, threads, world)
        devices = [self.device] if self.device.type == "cuda" else None
        self.wrapped = DistributedDataParallel(self.model, device_ids=devices)

    def open_device(self, spec: Spec, threads: int, world: World) -> torch.device:
        """Open this worker's device and the process group of all."""
        torch.set_num_threads(threads)
        kind = spec.backend["device"]
        present = {"cpu": world.local_workers, "gpu": torch.cuda.device_count()}.get(kind, 0)
        if world.local_workers > present:
            raise Unavailable(
                f"{world.local_workers} replica(s) on {kind} asked for on one host; "
                f"PyTorch sees {present} of this kind"
            )
        device = torch.device("cuda", world.local_rank) if kind == "gpu" else torch.device("cpu")
        if kind == "gpu":
            torch.cuda.set_device(device)
        self._rank = world.rank
        _join(world, "nccl" if kind == "gpu" else "gloo")
        workers = distributed.get_world_size()
        self.devices = Devices(kind, workers, workers)
        self.device_names = [torch.cuda.get_device_name(device) if kind == "gpu" else "cpu"]
        self.shard = Shard(world.rank, world.rank + 1, workers)
        return device

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """See `Torch.forward`; only training goes through the wrapper, which synchronises."""
        self.replica = self.wrapped if self.model.training else self.model
        return super().forward(inputs)

    def add_squares(self, squares: torch.Tensor) -> torch.Tensor:
        """See `Torch.add_squares`; a replica's gradients weigh 1 / replicas in the global batch's."""
        distributed.all_reduce(squares)
        return squares / self.devices.workers**2

    def end_of_epoch(self) -> None:
        """Give every worker the batch-norm statistics of rank 0, by which all evaluate."""
        for buffer in self.model.buffers():
            distributed.broadcast(buffer, src=0)

    def own_seed(self, seed: int) -> int:
        """Every replica draws dropout masks of its own; the first those of a run with one replica."""
        return framework_seed(seed, self._rank) if self._rank else seed

    def metrics(self, totals: torch.Tensor) -> Metrics:
        """See `Torch.metrics`."""
        distributed.all_reduce(totals)
        return super().metrics(totals)


ENGINE = TorchDDP


def _join(world: World, backend: str) -> None:
    """Open the process group, unless this process has done so; all of it on loopback on one host."""
    if distributed.is_initialized():
        return
    for variable in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        if world.on_one_host:
            os.environ[variable] = LOOPBACK_INTERFACE
        elif interface := interface_of(world.address(world.rank)[0]):
            os.environ.setdefault(variable, interface)
    distributed.init_process_group(
        backend,
        store=_store(world),
        rank=world.rank,
        world_size=world.workers,
        timeout=timedelta(seconds=COLLECTIVE_TIMEOUT),
    )
    atexit.register(distributed.destroy_process_group)


def _store(world: World) -> distributed.Store:
    """Where the workers exchange their addresses: rank 0 serves it, bound to its one address.

    Left to itself the store would listen on all interfaces.
    """
    if world.workers == 1:
        return distributed.HashStore()
    host, port = world.address(0)
    listener = None
    if world.rank == 0:
        listener = socket.create_server((host, port)).detach()
    return distributed.TCPStore(
        host,
        port,
        world.workers,
        is_master=world.rank == 0,
        timeout=timedelta(seconds=COLLECTIVE_TIMEOUT),
        master_listen_fd=listener,
        wait_for_workers=False,
    )
