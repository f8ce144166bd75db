"""One StableHLO module compiled for the devices of a target, and what the compiled program says of itself."""

import importlib
import math
import re
import time
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir
from jax.errors import JaxRuntimeError

from paragone.ahead_of_time.collectives import Collective, collectives_of
from paragone.ahead_of_time.compilers import Refused, Target, describe
from paragone.ahead_of_time.traffic import traffic
from paragone.base.errors import first_line
from paragone.config.compilations import compiler_of

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
# The two ways in which the TPU's compiler says by how much a program is too large.
_EXCEEDED = re.compile(r"[Ee]xceeded .*?by ([0-9.]+)([KMGT]?)")
_NEEDS = re.compile(r"\(([0-9.]+)([KMGT]?)\) exceeds available \w+ \(([0-9.]+)([KMGT]?)\)")
# Of an operation for which the compiler has no estimate of seconds.
_UNKNOWN = -1.0


@dataclass(frozen=True)
class Memory:
    """Bytes of one device: arguments, results, those results that take the place of arguments,
    intermediate values, and the program itself."""

    arguments: int
    outputs: int
    aliased: int
    temporary: int
    code: int

    @property
    def total(self) -> int:
        """All that is there at once."""
        return self.arguments + self.outputs - self.aliased + self.temporary + self.code


@dataclass(frozen=True)
class Compiled:
    """What a compiled program says of one device.

    `flop` and `bytes_accessed`: the compiler's counts, of the operations left after optimization (an
    operation reads its operands and writes its result, inside a fusion nothing); None where it has none.
    `memory_traffic`: bytes of main memory, calls of libraries among them (see `traffic`).
    `estimated_seconds`: its own estimate of a step, None where it has none for some operation.
    """

    seconds: float
    flop: float | None
    bytes_accessed: float | None
    memory_traffic: float | None
    transcendentals: float | None
    estimated_seconds: float | None
    memory: Memory
    collectives: list[Collective] = field(default_factory=list)


def compile_for(target: Target, stablehlo: str, replicas: int, partitions: int) -> Compiled:
    """Compile for the target's devices: so many replicas, each divided into so many partitions.

    Raises `NoCompiler`, and `Refused` with the compiler's reason in one line.
    """
    jax.config.update("jax_platforms", "cpu")  # nothing runs: no plug-in opens a device
    devices = describe(target)
    options = options_of(target["compiler"], stablehlo, replicas, partitions)
    client, begin = devices[0].client, time.monotonic()
    try:
        with mlir.make_ir_context():
            module = ir.Module.parse(stablehlo)
            here = xla_client.DeviceList(tuple(devices))
            if isinstance(client, xla_client._xla.CompileOnlyPyClient):
                executable = client.compile(module, here, options)
            else:  # the devices are there: a CPU's
                executable = client.compile_and_load(module, here, options)
    except (JaxRuntimeError, ir.MLIRError) as error:
        raise Refused(*_refusal(error)) from error
    seconds = time.monotonic() - begin
    return _described(executable, seconds, replicas * partitions, target)


def options_of(compiler: str, stablehlo: str, replicas: int, partitions: int) -> Any:
    """XLA's options for a module that is divided so."""
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    for one in (options, build):
        one.num_replicas, one.num_partitions = replicas, partitions
    build.use_spmd_partitioning = partitions > 1
    build.use_shardy_partitioner = "sdy." in stablehlo
    grid = np.arange(replicas * partitions).reshape(replicas, partitions)
    build.device_assignment = xla_client.DeviceAssignment.create(grid)
    module = importlib.import_module(compiler_of(compiler))
    options.env_option_overrides = getattr(module, "OPTIONS", [])
    return options


def _described(executable: Any, seconds: float, devices: int, target: Target) -> Compiled:
    stats = executable.get_compiled_memory_stats()
    modules = executable.hlo_modules()
    try:
        costs = executable.cost_analysis()
    # What compiles for a GPU that is not there counts nothing; the caller counts from the program.
    except (JaxRuntimeError, NotImplementedError):
        costs = {}
    texts = [module.to_string() for module in modules]
    estimate = costs.get("optimal_seconds", _UNKNOWN)
    return Compiled(
        seconds=seconds,
        flop=costs.get("flops"),
        bytes_accessed=costs.get("bytes accessed"),
        memory_traffic=of_main_memory(costs, texts, target["cache"]),
        transcendentals=costs.get("transcendentals"),
        estimated_seconds=estimate if estimate > 0 else None,
        memory=Memory(
            stats.argument_size_in_bytes,
            stats.output_size_in_bytes,
            stats.alias_size_in_bytes,
            stats.temp_size_in_bytes,
            stats.generated_code_size_in_bytes,
        ),
        collectives=[one for text in texts for one in collectives_of(text, devices)],
    )


def of_main_memory(costs: dict[str, float], texts: list[str], cache: int) -> float:
    """Bytes of main memory in a step: of the programs' text, or the compiler's count where that is less."""
    return min(
        float(sum(traffic(text, cache) for text in texts)), costs.get("bytes accessed", math.inf)
    )


def _refusal(error: Exception) -> tuple[str, int | None]:
    excess = None
    if found := _EXCEEDED.search(str(error)):
        excess = _bytes(found[1], found[2])
    elif found := _NEEDS.search(str(error)):
        excess = _bytes(found[1], found[2]) - _bytes(found[3], found[4])
    return first_line(error), excess


def _bytes(number: str, unit: str) -> int:
    return int(float(number) * _UNITS[unit])
