"""PyTorch/XLA: one program over all devices of this process, partitioned by the compiler (SPMD).

The same code runs on TPU cores and on virtual CPU devices. The partitioned program computes the same as the
program on one device, so that batch norm sees the global batch.
"""

import math
import os
from functools import cache

import numpy as np
import torch
import torch_xla
from torch import nn
from torch.nn.modules.batchnorm import _NormBase as BatchOrInstanceNorm
from torch_xla import backends, runtime
from torch_xla.core import xla_model
from torch_xla.distributed import spmd

from paragone.base.engine_reports import Devices, Modes, World
from paragone.base.errors import Unavailable, first_line
from paragone.config.run_spec import Spec
from paragone.data.batches import WHOLE
from paragone.engines.torch import Torch
from paragone.machine.accelerators import tpu_is_attached

# XLA's operation for batch norm computes these, with the epsilon in single precision. A deep network
# multiplies its rounding by 10^7 (docs/evidence.md).
NORMS = (BatchOrInstanceNorm, nn.LayerNorm, nn.GroupNorm)


class TorchXLA(Torch):
    """The eager engine, traced lazily, with every batch split over a mesh of all devices."""

    keeps_unbiased_variances = False  # XLA's operation for batch norm returns biased ones

    def open_device(self, spec: Spec, threads: int, world: World) -> torch.device:
        """Open all devices of the process as one mesh; `threads` is set by the process's affinity."""
        kind = spec.backend.device
        self._mesh, self.device_names = open_mesh(kind, spec.replicas)
        self.devices = Devices(kind, len(self.device_names), workers=1)
        self.shard = WHOLE
        # Created once per kind of array, as that takes longer than sending a small batch.
        self._sharding = cache(lambda axes: spmd.ShardingSpec(self._mesh, axes))
        return torch_xla.device()

    def place(self, model: nn.Module) -> nn.Module:
        """Move the model to the device; in double precision, the inputs of norms are scaled."""
        for layer in model.modules():
            if self.dtype == torch.float64 and isinstance(layer, NORMS):
                layer.register_forward_pre_hook(_scaled)
        return super().place(model)

    def put(self, array: np.ndarray) -> torch.Tensor:
        """Copy a host array to the devices, split by examples where they divide evenly, else replicated."""
        divides = len(array) % self.devices.replicas == 0
        axes = ("data" if divides else None,) + (None,) * (array.ndim - 1)
        sending = (torch.from_numpy(array), self.device, self._sharding(axes))
        return xla_model.send_cpu_data_to_device(*sending)[0]

    def set_seed(self, seed: int) -> None:
        """PyTorch's own function does not reach this device."""
        torch_xla.manual_seed(seed)

    def modes(self) -> Modes:
        """XLA's, as PyTorch's switches do not reach it. Its programs for CPUs and TPUs are deterministic."""
        rounding = {"highest": "ieee", "high": "tf32", "default": "bfloat16"}
        kind = self.devices.kind
        return Modes(
            math_mode="ieee" if kind == "cpu" else rounding[backends.get_mat_mul_precision()],
            deterministic=kind != "gpu",
            collectives="xla" if self.devices.replicas > 1 else None,
        )

    def peak_device_memory(self) -> int | None:
        """Return the peak of the first device, since SPMD loads all alike."""
        if self.devices.kind == "cpu":
            return None  # PJRT's CPU client does not count
        info = xla_model.get_memory_info(f"xla:{runtime.global_ordinal()}")
        return info.get("peak_bytes_used")

    def end_of_step(self) -> None:
        """Start everything traced so far as one program, which runs while the next step is traced.

        Otherwise each tensor that is read would be compiled as a separate program.
        """
        torch_xla.sync()


ENGINE = TorchXLA


def _scaled(norm: nn.Module, inputs: tuple) -> tuple:
    """Return the inputs times c, by which c x / sqrt(c^2 variance + rounded) has the norm's own epsilon."""
    rounded = float(np.float32(norm.eps))
    scale = math.sqrt(rounded / norm.eps) if rounded else 1.0
    return tuple(values * scale for values in inputs)


def choose(kind: str, count: int | None = None) -> None:
    """Choose the kind of device that PJRT opens at its first use, and how many virtual ones on a CPU."""
    if kind != "cpu":
        backends.set_mat_mul_precision("highest")  # otherwise a TPU rounds float32 to bfloat16
    os.environ["PJRT_DEVICE"] = {"cpu": "CPU", "gpu": "CUDA", "tpu": "TPU"}[kind]
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
