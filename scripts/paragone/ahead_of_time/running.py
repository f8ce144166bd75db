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
from jax._src.sharding_impls import GSPMDSharding
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from paragone.ahead_of_time.collectives import collectives_of, counted
from paragone.ahead_of_time.compiling import of_main_memory, options_of
from paragone.records.run_record import Json

_KINDS = {"i1": np.bool_, "ui8": np.uint8, "bf16": jnp.bfloat16}
_SCALAR = re.compile(r"(?P<kind>ui|i|f)(?P<bits>\d+)")
_NAMES = {"ui": "uint", "i": "int", "f": "float"}
SHORTEST = 0.2  # seconds of a timed run at least
RUNS = 5
_TRIAD = 2**26  # elements of each array: a quarter of a GB


def measure(stablehlo: str, devices: int) -> Json:
    """Compile and run; the keys of the result from `cost` on.

    Several devices are virtual and share the cores of this machine. Inputs are zeros. Results do not take
    the place of arguments, so that every step has the same ones.
    """
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", devices)
    jax.config.update("jax_enable_x64", True)
    here = xla_client.DeviceList(tuple(jax.devices("cpu")))
    with mlir.make_ir_context():
        module = ir.Module.parse(stablehlo)
        entry = next(one for one in module.body if one.attributes["sym_name"].value == "main")
        if "arg_attrs" in entry.attributes:
            kept = [_of_shardings(one) for one in entry.attributes["arg_attrs"]]
            entry.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)
        kinds = [str(kind) for kind in entry.type.inputs]
        program = here[0].client.compile_and_load(
            module, here, options_of("cpu", stablehlo, 1, devices)
        )
    # Without a sharding: of one device.
    shardings = program.get_parameter_shardings() or [_whole()] * len(kinds)
    inputs = [
        _zeros(kind, GSPMDSharding(here, one)) for kind, one in zip(kinds, shardings, strict=True)
    ]

    def step() -> None:
        found = program.execute_sharded(inputs).disassemble_into_single_device_arrays()
        for arrays in found:
            for array in arrays:
                array.block_until_ready()

    costs = program.cost_analysis()
    (compiled,) = program.hlo_modules()
    calls, runs = _timed(step)
    return {
        "cost": {
            "flop": costs.get("flops"),
            "bytes_accessed": costs.get("bytes accessed"),
            "memory_traffic": of_main_memory(costs, [compiled.to_string()], 0),
            "transcendentals": costs.get("transcendentals"),
            "estimated_seconds": None,
        },
        "collectives": counted(collectives_of(compiled.to_string(), devices)),
        "calls": calls,
        "runs": runs,
        "traffic": _traffic(),
        "all_reduce": _all_reduce(devices) if devices > 1 else None,
    }


def _of_shardings(attributes: ir.DictAttr) -> ir.DictAttr:
    """Of an argument's attributes those that say how it is divided."""
    kept = {one.name: one.attr for one in attributes if "sharding" in one.name}
    return ir.DictAttr.get(kept)


def _whole() -> Any:
    """On every device."""
    return xla_client.HloSharding.replicate().to_proto()


def _all_reduce(devices: int) -> Json:
    """Sums over the devices of arrays that no cache holds, as large as those of `_traffic`, in all."""
    mesh = Mesh(np.array(jax.devices("cpu")), ("data",))
    split, whole = PartitionSpec("data"), PartitionSpec()
    add = jax.jit(
        jax.shard_map(
            lambda part: jax.lax.psum(part, "data"), mesh=mesh, in_specs=split, out_specs=whole
        )
    )
    values = jax.device_put(np.ones(_TRIAD, np.float32), NamedSharding(mesh, split))
    calls, runs = _timed(lambda: add(values).block_until_ready())
    return {"bytes": calls * (values.nbytes // devices), "runs": runs}


def _traffic() -> Json:
    """a + s b of two arrays that no cache holds: two are read, one is written (STREAM's triad).

    In the place of the first, since fresh memory would cost a page fault every 4 KiB.
    """
    values, others = (jnp.full(_TRIAD, value, jnp.float32) for value in (1, 2))
    triad = jax.jit(lambda a, b: a + jnp.float32(3) * b, donate_argnums=0)

    def work() -> None:
        nonlocal values
        values = triad(values, others).block_until_ready()

    calls, runs = _timed(work)
    return {"bytes": calls * 3 * others.nbytes, "runs": runs}


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


def _zeros(kind: str, sharding: Any) -> jax.Array:
    """Of the type of an argument, such as tensor<128x10xf32>."""
    *sizes, element = kind.removeprefix("tensor<").removesuffix(">").split("x")
    dtype: Any = _KINDS.get(element)
    if dtype is None and (found := _SCALAR.fullmatch(element)):
        dtype = np.dtype(_NAMES[found["kind"]] + found["bits"])
    return jax.device_put(np.zeros([int(size) for size in sizes], dtype), sharding)
