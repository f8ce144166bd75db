"""The devices that PyTorch/XLA opens, for the engines and the microbenchmarks: those of PJRT."""

import os

import numpy as np
import torch
import torch_xla
from torch_xla import backends, runtime
from torch_xla.distributed import spmd

from paragone.base.engine_reports import Devices, Modes
from paragone.base.errors import Unavailable, first_line
from paragone.machine.own_accelerators import tpu_is_attached

_VARIABLE = {"cpu": "CPU", "gpu": "CUDA", "tpu": "TPU"}


def choose(kind: str, count: int | None = None) -> None:
    """Set what PJRT opens at its first use: a kind of device and, on a CPU, how many virtual ones.

    On a CPU one thread of PyTorch copies the batches.
    """
    if kind != "cpu":
        backends.set_mat_mul_precision("highest")  # else a TPU would round float32 to bfloat16
    os.environ["PJRT_DEVICE"] = _VARIABLE[kind]
    if kind == "tpu" and not tpu_is_attached():
        # No TPU is attached: libtpu would ask the cloud's server what it is, for minutes.
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
    if kind == "cpu":
        # Several would split the copying of a batch, then spin beside XLA's: `make bench ONLY=epoch`.
        torch.set_num_threads(1)
        if count:
            os.environ["CPU_NUM_DEVICES"] = str(count)


def open_mesh(kind: str, replicas: int) -> tuple[spmd.Mesh, list[str]]:
    """Open all devices of this process as one mesh with the axis "data"; their names.

    Raises `Unavailable` unless there are as many as replicas.
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
    names = [str(one["name"]) for one in runtime.global_runtime_device_attributes()]
    return spmd.Mesh(np.arange(present), (present,), ("data",)), names


def open_device(kind: str) -> tuple[torch.device, str]:
    """Open the one device of a kind; its name. Raises `Unavailable`."""
    choose(kind, 1)
    try:
        device = torch_xla.device()
        return device, str(runtime.global_runtime_device_attributes()[0].get("name", device))
    except RuntimeError as error:
        raise _none(kind, error) from error


def modes(devices: Devices) -> Modes:
    """What is in force. XLA's programs for CPUs and TPUs repeat to the last bit."""
    rounding = {"highest": "ieee", "high": "tf32", "default": "bfloat16"}
    return Modes(
        math_mode=rounding[backends.get_mat_mul_precision()] if devices.kind != "cpu" else "ieee",
        deterministic=devices.kind != "gpu",
        collectives="xla" if devices.replicas > 1 else None,
    )


def _none(kind: str, error: RuntimeError) -> Unavailable:
    return Unavailable(f"PyTorch/XLA finds no {kind}: {first_line(error)}")
