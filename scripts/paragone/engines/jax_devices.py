"""The devices that JAX opens, for engine and microbenchmarks: those of one mesh, over all processes."""

import jax
from jax.sharding import AxisType, Mesh

from paragone.base.errors import Unavailable, require_devices
from paragone.base.ranks import ALONE, COLLECTIVE_TIMEOUT, World


def open_mesh(kind: str, replicas: int, world: World = ALONE) -> Mesh:
    """A mesh with the axis "data" over so many devices of a kind; on a CPU, virtual ones that share cores.

    Before the first operation of the process. Raises `Unavailable`.
    """
    own = replicas // world.workers
    jax.config.update("jax_platforms", {"gpu": "cuda"}.get(kind, kind))
    if kind == "cpu":
        jax.config.update("jax_num_cpu_devices", own)
    if world.workers > 1:
        _join(kind, own, world)
    try:
        devices = jax.devices()
    except (RuntimeError, AssertionError) as error:  # it asserts that some plug-in is there
        raise Unavailable(
            f"JAX finds no {kind}: {(str(error) or 'no plug-in').splitlines()[0]}"
        ) from error
    require_devices("JAX", kind, replicas, len(devices))
    return jax.make_mesh((replicas,), ("data",), (AxisType.Auto,), devices=devices[:replicas])


def _join(kind: str, own: int, world: World) -> None:
    """Meet the other processes; rank 0 serves their addresses, bound to its one address.

    By default it would listen on all interfaces.
    """
    if kind == "cpu":
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    first = own * world.local_rank
    jax.distributed.initialize(
        coordinator_address=world.addresses[0],
        coordinator_bind_address=world.addresses[0],
        num_processes=world.workers,
        process_id=world.rank,
        local_device_ids=[*range(first, first + own)] if kind == "gpu" else None,
        initialization_timeout=COLLECTIVE_TIMEOUT,
        cluster_detection_method="deactivate",
    )
