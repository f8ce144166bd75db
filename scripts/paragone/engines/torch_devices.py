"""PyTorch's devices and process group, for the engines and the microbenchmarks."""

import atexit
import os
import socket
from datetime import timedelta

import psutil
import torch
from torch import distributed

from paragone.base.errors import require_devices
from paragone.base.ranks import ALONE, World

LOOPBACK_INTERFACE = "lo"


def open_device(kind: str, world: World = ALONE) -> tuple[torch.device, str]:
    """Open this worker's device of a kind; return it and the name of its model.

    Each worker of a host has another device. Raises `Unavailable` if there are too few.
    """
    present = {"cpu": world.local_workers, "gpu": torch.cuda.device_count()}.get(kind, 0)
    require_devices("PyTorch", kind, world.local_workers, present)
    if kind == "cpu":
        return torch.device("cpu"), "cpu"
    # No TF32. Inductor reads these old flags, and PyTorch refuses to mix them with the new ones.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    device = torch.device("cuda", world.local_rank)
    torch.cuda.set_device(device)
    return device, torch.cuda.get_device_name(device)


def join(world: World, device: torch.device) -> None:
    """Open the process group unless it is open; on one host, over the loopback interface only."""
    if distributed.is_initialized():
        return
    for variable in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        if world.on_one_host:
            os.environ[variable] = LOOPBACK_INTERFACE
        elif interface := _interface_of(world.address(world.rank)[0]):
            os.environ.setdefault(variable, interface)
    distributed.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        store=_store(world),
        rank=world.rank,
        world_size=world.workers,
        timeout=timedelta(seconds=world.timeout),
    )
    atexit.register(distributed.destroy_process_group)


def _interface_of(address: str) -> str | None:
    """Return the network interface of this host with an address; None if there is none."""
    for name, entries in psutil.net_if_addrs().items():
        if any(entry.address == address for entry in entries):
            return name
    return None


def _store(world: World) -> distributed.Store:
    """Return the store in which workers exchange their addresses. Rank 0 serves it, bound to its own address.

    By default the store would listen on all interfaces.
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
        timeout=timedelta(seconds=world.timeout),
        master_listen_fd=listener,
        wait_for_workers=False,
    )
