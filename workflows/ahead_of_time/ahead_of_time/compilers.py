"""The compilers of TPUs and NVIDIA GPUs, which compile on any CPU for devices that are described."""

import math
import os
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.errors import JaxRuntimeError
from jax.experimental import topologies
from jax.extend.mlir import ir
from jax.interpreters import mlir
from jaxlib import xla_client

from ahead_of_time.hlo import collectives_of, traffic
from ahead_of_time.records import Cost, Exported, NotCompiled, Target
from paragone.base.errors import first_line

# The package of each compiler, and what installs it.
_PACKAGES = {"tpu": ("libtpu", "make all"), "cuda": ("jax-cuda12-plugin", "make gpu-compiler")}
# libtpu reads these when it is loaded: no TPU is asked what it is, and several processes may compile.
_TPU_VARIABLES = {"TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
# Descriptions of GPUs, as XLA's own sources have them.
_GPUS = Path(__file__).parents[1] / "gpus"


def compile_for(target: Target, stablehlo: str, exported: Exported) -> tuple[Cost, float]:
    """What a StableHLO module costs on each device of a target, and how many seconds it took to compile.

    Raises `NotCompiled` if the compiler is not installed, does not know the topology or refuses the module.
    """
    jax.config.update("jax_platforms", "cpu")  # nothing runs: no plug-in opens a device
    devices = _devices(target)
    begin = time.monotonic()
    try:
        with mlir.make_ir_context():
            program = devices[0].client.compile(
                ir.Module.parse(stablehlo),
                xla_client.DeviceList(tuple(devices)),
                _options(target, stablehlo, exported.replicas, exported.partitions),
            )
    except (JaxRuntimeError, ir.MLIRError) as error:
        too_large = "RESOURCE_EXHAUSTED" in str(error)
        raise NotCompiled("too_large" if too_large else "refused", first_line(error)) from error
    seconds = time.monotonic() - begin
    try:
        counts = program.cost_analysis()
    except (
        JaxRuntimeError,
        NotImplementedError,
    ):  # a program for a GPU that is not here counts nothing
        counts = {}
    (text,) = [module.to_string() for module in program.hlo_modules()]
    memory = program.get_compiled_memory_stats()
    return cost_of(text, counts, memory, target.devices, target.device.cache), seconds


def cost_of(hlo: str, counts: dict[str, float], memory: Any, devices: int, cache: int = 0) -> Cost:
    """The cost of a compiled program, from its text, the compiler's counts and its memory statistics.

    Bytes of main memory are those of the text, or the compiler's count where that is less.
    """
    return Cost(
        flop=counts.get("flops"),
        memory_traffic=min(float(traffic(hlo, cache)), counts.get("bytes accessed", math.inf)),
        memory=memory.argument_size_in_bytes
        + memory.output_size_in_bytes
        - memory.alias_size_in_bytes
        + memory.temp_size_in_bytes
        + memory.generated_code_size_in_bytes,
        collectives=collectives_of(hlo, devices),
    )


def _options(target: Target, stablehlo: str, replicas: int, partitions: int) -> Any:
    """XLA's options for a module that runs as so many replicas, each divided into so many partitions."""
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    for settings in (options, build):
        settings.num_replicas, settings.num_partitions = replicas, partitions
    build.use_spmd_partitioning = partitions > 1
    # PyTorch/XLA writes shardings for the partitioner before Shardy.
    build.use_shardy_partitioner = "sdy." in stablehlo
    grid = np.arange(replicas * partitions).reshape(replicas, partitions)
    build.device_assignment = xla_client.DeviceAssignment.create(grid)
    if target.compiler == "cuda":  # tuning would run kernels on the device
        options.env_option_overrides = [("xla_gpu_autotune_level", "0")]
    return options


def _devices(target: Target) -> list[Any]:
    """The devices of a target, as its compiler describes them."""
    package, remedy = _PACKAGES[target.compiler]
    if not installed(package):
        raise NotCompiled("no_compiler", f"{package} is not installed: `{remedy}` installs it")
    description = {"topology_name": target.topology}
    if target.compiler == "tpu":
        os.environ |= _TPU_VARIABLES
    else:
        described = _GPUS / f"{target.topology}.txtpb"
        if not described.is_file():
            raise NotCompiled("refused", f"topology {target.topology}: there is no {described}")
        grid = f"1x1x{target.devices}"
        description = {
            "topology_name": "",
            "target_config": described.read_text(),
            "topology": grid,
        }
        # The assembler of the wheels: another one may be too old, or missing.
        assembler = metadata.distribution("nvidia-cuda-nvcc-cu12").locate_file(
            "nvidia/cuda_nvcc/bin"
        )
        os.environ["PATH"] = os.pathsep.join([str(assembler), os.environ["PATH"]])
    try:
        devices = topologies.get_topology_desc(platform=target.compiler, **description).devices
    # libtpu, the form of the name, and JAX where a plug-in describes no topology.
    except (JaxRuntimeError, ValueError, NotImplementedError) as error:
        reason = f"topology {target.topology}: {first_line(error)}"
        raise NotCompiled("refused", reason) from error
    if len(devices) < target.devices:
        reason = f"topology {target.topology} has {len(devices)} devices, not {target.devices}"
        raise NotCompiled("refused", reason)
    return list(devices[: target.devices])


def installed(package: str) -> bool:
    """Whether a package is installed."""
    try:
        return bool(metadata.version(package))
    except metadata.PackageNotFoundError:
        return False
