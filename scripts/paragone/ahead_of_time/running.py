"""A compiled step, run on the CPU of this machine: what the method says of it can be measured here."""

import re
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

from paragone.records.run_record import Json

_KINDS = {"i1": np.bool_, "ui8": np.uint8, "bf16": jnp.bfloat16}
_SCALAR = re.compile(r"(?P<kind>ui|i|f)(?P<bits>\d+)")
_NAMES = {"ui": "uint", "i": "int", "f": "float"}
SHORTEST = 0.2  # seconds of a timed run at least
RUNS = 5
_TRIAD = 2**26  # elements of each array: a quarter of a GB


def measure(stablehlo: str) -> Json:
    """Compile and run; the keys `cost`, `calls`, `runs` and `traffic` of the result.

    Inputs are zeros. Results do not take the place of arguments, so that every step has the same ones.
    """
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    device = jax.devices("cpu")[0]
    with mlir.make_ir_context():
        module = ir.Module.parse(stablehlo)
        entry = next(one for one in module.body if one.attributes["sym_name"].value == "main")
        if "arg_attrs" in entry.attributes:
            del entry.attributes["arg_attrs"]
        inputs = [_zeros(str(kind), device) for kind in entry.type.inputs]
        program = device.client.compile_and_load(
            module, xla_client.DeviceList((device,)), xla_client.CompileOptions()
        )

    def step() -> None:
        found = program.execute_sharded(inputs).disassemble_into_single_device_arrays()
        for (array,) in found:
            array.block_until_ready()

    costs = program.cost_analysis()
    calls, runs = _timed(step)
    return {
        "cost": {
            "flop": costs.get("flops"),
            "bytes_accessed": costs.get("bytes accessed"),
            "memory_traffic": costs.get("bytes accessed"),
            "transcendentals": costs.get("transcendentals"),
            "estimated_seconds": None,
        },
        "calls": calls,
        "runs": runs,
        "traffic": _traffic(),
    }


def _traffic() -> Json:
    """a + s b of two arrays that no cache holds: two are read, one is written (STREAM's triad)."""
    first, second = (jnp.full(_TRIAD, value, jnp.float32) for value in (1, 2))
    triad = jax.jit(lambda a, b: a + jnp.float32(3) * b)
    calls, runs = _timed(lambda: triad(first, second).block_until_ready())
    return {"bytes": calls * 3 * first.nbytes, "runs": runs}


def _timed(work: Callable[[], Any]) -> tuple[int, list[float]]:
    """Calls per run and seconds of each run, after a warm-up of two calls."""
    seconds = [_seconds(work, 1) for _ in range(2)][-1]
    calls = max(1, round(SHORTEST / seconds))
    return calls, [_seconds(work, calls) for _ in range(RUNS)]


def _seconds(work: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return time.perf_counter() - start


def _zeros(kind: str, device: Any) -> jax.Array:
    """Of the type of an argument, such as tensor<128x10xf32>."""
    *sizes, element = kind.removeprefix("tensor<").removesuffix(">").split("x")
    dtype: Any = _KINDS.get(element)
    if dtype is None and (found := _SCALAR.fullmatch(element)):
        dtype = np.dtype(_NAMES[found["kind"]] + found["bits"])
    return jax.device_put(np.zeros([int(size) for size in sizes], dtype), device)
