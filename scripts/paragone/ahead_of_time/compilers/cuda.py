"""XLA's compiler for NVIDIA GPUs, in the wheels of jax-cuda12-plugin: it compiles for a described GPU.

What it needs to know of one is what XLA's own descriptions of these GPUs have, which its tests compile for.
"""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from paragone.ahead_of_time.compilers import NoCompiler, Refused, Target, installed
from paragone.base.errors import first_line


@dataclass(frozen=True)
class Gpu:
    """Compute capability, multiprocessors, arithmetic units of each, bytes of shared memory of each and the
    part that a block may ask for, boost clock (GHz), bytes/s. Memory and cache are those of the target."""

    capability: tuple[int, int]
    multiprocessors: int
    units: int
    shared: int
    shared_per_block: int
    clock: float
    bandwidth: int


GPUS = {
    "H100-SXM": Gpu((9, 0), 132, 128, 233472, 232448, 1.98, 3352320000000),
    "A100-SXM-80GB": Gpu((8, 0), 108, 64, 167936, 166912, 1.41, 2039040000000),
    "V100-SXM2-16GB": Gpu((7, 0), 80, 64, 98304, 98304, 1.53, 898048000000),
    "GTX-1080-Ti": Gpu((6, 1), 28, 128, 98304, 49152, 1.582, 484400000000),
}
# The version of cuDNN whose convolutions the compiler may call.
_CUDNN = (9, 10, 0)
# Tuning would run kernels on the device.
OPTIONS = [("xla_gpu_autotune_level", "0")]


def describe(target: Target) -> list[Any]:
    """The devices of one host with GPUs of the name `topology`."""
    if not installed("jax_plugins.xla_cuda12"):
        raise NoCompiler(
            "the GPU's compiler is not installed; it is optional, its wheels are large: install it by "
            "`make gpu-compiler`, or envs/gpu-compiler.txt"
        )
    if target["topology"] not in GPUS:
        raise Refused(
            f"topology {target['topology']}: no such GPU is described; there are {', '.join(GPUS)}"
        )
    _prefer_own_assembler()
    from jax.errors import JaxRuntimeError
    from jax.experimental import topologies

    try:
        described = topologies.get_topology_desc(
            platform="cuda",
            topology_name="",
            target_config=_config(target),
            topology=f"1x1x{target['devices']}",
        )
    except (JaxRuntimeError, ValueError) as error:
        raise Refused(f"topology {target['topology']}: {first_line(error)}") from error
    return list(described.devices)


def _prefer_own_assembler() -> None:
    """Put the assembler of the wheels first on PATH: another may be too old, or none."""
    tools = find_spec("nvidia.cuda_nvcc") if installed("nvidia.cuda_nvcc") else None
    folders = (
        [f"{folder}/bin" for folder in (tools.submodule_search_locations or [])] if tools else []
    )
    os.environ["PATH"] = os.pathsep.join([*folders, os.environ["PATH"]])


def _config(target: Target) -> str:
    """The text of XLA's protocol buffer GpuTargetConfigProto."""
    name = target["topology"]
    gpu = GPUS[name]
    major, minor = gpu.capability
    return f"""
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  threads_per_core_limit: 2048
  shared_memory_per_block: 49152
  shared_memory_per_core: {gpu.shared}
  shared_memory_per_block_optin: {gpu.shared_per_block}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  core_count: {gpu.multiprocessors}
  fpus_per_core: {gpu.units}
  clock_rate_ghz: {gpu.clock}
  l2_cache_size: {target["cache"]}
  device_memory_size: {int(target["memory"])}
  memory_bandwidth: {gpu.bandwidth}
  cuda_compute_capability {{ major: {major} minor: {minor} }}
}}
platform_name: "CUDA"
dnn_version_info {{ major: {_CUDNN[0]} minor: {_CUDNN[1]} patch: {_CUDNN[2]} }}
device_description_str: "{name}"
"""
