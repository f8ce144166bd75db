"""The devices of PyTorch/XLA (of PJRT), for the engines and the microbenchmarks."""

import os

import numpy as np
import torch
import torch_xla
from torch_xla import backends, runtime
from torch_xla.distributed import spmd

from paragone.base.errors import Unavailable, first_line
from paragone.machine.accelerators import tpu_is_attached

_VARIABLE = {"cpu": "CPU", "gpu": "CUDA", "tpu": "TPU"}


def choose(kind: str, count: int | None = None) -> None:
    """Choose the kind of device that PJRT opens at its first use, and how many virtual ones on a CPU."""
    if kind != "cpu":
        backends.set_mat_mul_precision("highest")  # otherwise a TPU rounds float32 to bfloat16
    os.environ["PJRT_DEVICE"] = _VARIABLE[kind]
    if kind == "tpu" and not tpu_is_attached():
        # Without an attached TPU, libtpu would query the cloud's metadata server for minutes.
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
    if kind == "cpu":
        # Several threads would share the copying of a batch and then spin, on the cores of XLA's threads.
        torch.set_num_threads(1)
        if count:
            os.environ["CPU_NUM_DEVICES"] = str(count)


def open_mesh(kind: str, replicas: int) -> tuple[spmd.Mesh, list[str]]:
    """Open all devices of this process as a mesh with the axis "data"; return it and their names.

    Raises `Unavailable` unless there are as many devices as replicas.
    """
    choose(kind, replicas)
    runtime.use_spmd()
    try:
        present = runtime.global_runtime_device_count()
    except RuntimeError as error:
        raise _none(kind, error) from error
    if present != replicas:
        raise Unavailable(
            f"{replicas} replica(s) on {kind} asked for; PyTorch/XLA has {present} and uses all"
        )
    names = [str(device["name"]) for device in runtime.global_runtime_device_attributes()]
    return spmd.Mesh(np.arange(present), (present,), ("data",)), names


def open_device(kind: str) -> tuple[torch.device, str]:
    """Open a single device of a kind; return it and its name. Raises `Unavailable` if there is none."""
    choose(kind, 1)
    try:
        device = torch_xla.device()
        return device, str(runtime.global_runtime_device_attributes()[0].get("name", device))
    except RuntimeError as error:
        raise _none(kind, error) from error


def _none(kind: str, error: RuntimeError) -> Unavailable:
    return Unavailable(f"PyTorch/XLA finds no {kind}: {first_line(error)}")
