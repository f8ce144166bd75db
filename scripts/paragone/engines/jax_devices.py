"""The devices of JAX, for the engine and the microbenchmarks: one mesh over all processes."""

import math
import os
from collections import Counter

import jax
import jaxlib
from jax.sharding import AxisType, Mesh

from paragone.base.engine_reports import Programs
from paragone.base.errors import Unavailable, first_line, require_devices
from paragone.base.ranks import ALONE, World
from paragone.engines import kept_programs

DETERMINISTIC = "--xla_gpu_deterministic_ops=true"
_COMPILED, _CACHED = (
    "/jax/core/compile/backend_compile_duration",
    "/jax/compilation_cache/cache_hits",
)
_events: Counter[str] = Counter()  # of this process
jax.monitoring.register_event_listener(lambda event, **_: _events.update([event]))
jax.monitoring.register_event_duration_secs_listener(
    lambda event, duration, **_: _events.update([event])
)


def open_mesh(
    kind: str, replicas: int, world: World = ALONE, *, deterministic: bool = False
) -> Mesh:
    """Open a mesh with the axis "data" over `replicas` devices of a kind, on a CPU virtual ones.

    Call it before the first operation of the process. Raises `Unavailable` if there are too few devices.
    """
    local = replicas // world.workers
    if kind != "cpu":
        # Float32 is float32: by default a GPU rounds to TF32, a TPU to bfloat16, before it multiplies.
        jax.config.update("jax_default_matmul_precision", "highest")
    if kind == "gpu" and deterministic:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {DETERMINISTIC}".strip()
    jax.config.update("jax_platforms", {"gpu": "cuda"}.get(kind, kind))
    if kind == "cpu":
        jax.config.update("jax_num_cpu_devices", local)
        if local > 1:
            # Devices share a pool of a thread per core, and a reduction that waits for another device keeps
            # one: in the text CNN two devices on two cores hang, and XLA aborts. Four threads were enough.
            cores = len(os.sched_getaffinity(0))
            os.environ["PJRT_NPROC"] = str(max(cores, 8 * local))
        if world.workers == 1:
            _keep_programs()
    if world.workers > 1:
        _join(kind, local, world)
    try:
        devices = jax.devices()
    except (RuntimeError, AssertionError) as error:  # JAX asserts that a plug-in exists
        reason = first_line(error) if str(error) else "no plug-in"
        raise Unavailable(f"JAX finds no {kind}: {reason}") from error
    require_devices("JAX", kind, replicas, len(devices))
    return jax.make_mesh((replicas,), ("data",), (AxisType.Auto,), devices=devices[:replicas])


def programs() -> Programs:
    """Return how many programs this process has compiled or found; JAX times those of its cache, too."""
    return Programs(compiled=_events[_COMPILED] - _events[_CACHED], cached=_events[_CACHED])


def _keep_programs() -> None:
    """Let JAX's cache have all programs, however small, where `kept_programs` has a folder for them.

    On CPUs, where to compile again gives the same program: on GPUs it tries out kernels anew.
    """
    if folder := kept_programs("jax", jax.__version__, jaxlib.__version__):
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)


def _join(kind: str, local: int, world: World) -> None:
    """Join the other processes. Rank 0 serves their addresses, bound to its own address.

    By default it would listen on all interfaces.
    """
    if kind == "cpu":
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    first = local * world.local_rank
    jax.distributed.initialize(
        coordinator_address=world.addresses[0],
        coordinator_bind_address=world.addresses[0],
        num_processes=world.workers,
        process_id=world.rank,
        local_device_ids=[*range(first, first + local)] if kind == "gpu" else None,
        initialization_timeout=math.ceil(world.timeout),
        heartbeat_timeout_seconds=math.ceil(world.timeout),
        shutdown_timeout_seconds=math.ceil(world.timeout),
        cluster_detection_method="deactivate",
    )
