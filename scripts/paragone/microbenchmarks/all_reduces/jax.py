"""All-reduce of JAX: a sum over the axis that is split over the mesh, kept everywhere."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from paragone.base.ranks import World
from paragone.engines.jax_devices import open_mesh


class _Group:
    def __init__(self, mesh: Mesh) -> None:
        self.device_names = [str(device) for device in mesh.local_devices]
        self._first = [*mesh.devices].index(mesh.local_devices[0])
        self._split = NamedSharding(mesh, PartitionSpec("data", None))
        whole = NamedSharding(mesh, PartitionSpec())  # XLA must reduce
        self._sum = jax.jit(lambda vectors: vectors.sum(0), out_shardings=whole)

    def put(self, elements: int) -> jax.Array:
        own = self._first + 1 + np.arange(len(self.device_names), dtype=np.float32)
        host = own.repeat(elements).reshape(-1, elements)
        return jax.make_array_from_process_local_data(self._split, host)

    def all_reduce(self, vectors: jax.Array) -> jax.Array:
        return self._sum(vectors)

    def wait(self, sums: jax.Array) -> None:
        sums.block_until_ready()

    def fetch(self, sums: jax.Array) -> list[np.ndarray]:
        return [np.asarray(shard.data) for shard in sums.addressable_shards]


def open_group(backend: dict[str, str], replicas: int, world: World, threads: int) -> _Group:
    """See `microbenchmarks.all_reduces`; `threads` is set by the process's affinity."""
    return _Group(open_mesh(backend["device"], replicas, world))
