"""All-reduce of `tf.distribute` between the replicas of a strategy, by its own cross-device operations."""

import numpy as np

from paragone.base.errors import Unavailable
from paragone.base.ranks import World
from paragone.base.tensorflow import tf
from paragone.engines import tensorflow_devices


class _Group:
    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self._strategy = strategy
        self.device_names = list(strategy.extended.worker_devices)
        self._sum = tf.function(lambda vectors: strategy.run(_sum, args=(vectors,)))

    def put(self, elements: int) -> tf.distribute.DistributedValues:
        def value(context: tf.distribute.experimental.ValueContext) -> tf.Tensor:
            local = context.replica_id_in_sync_group
            return tf.fill([elements], tf.constant(1.0 + local))

        return self._strategy.experimental_distribute_values_from_function(value)

    def all_reduce(
        self, vectors: tf.distribute.DistributedValues
    ) -> tf.distribute.DistributedValues:
        return self._sum(vectors)

    def wait(self, sums: tf.distribute.DistributedValues) -> None:
        # On a CPU a function returns when it is done; across workers the call below is an error.
        if "GPU" in self.device_names[0]:
            tf.test.experimental.sync_devices()

    def fetch(self, sums: tf.distribute.DistributedValues) -> list[np.ndarray]:
        return [one.numpy() for one in self._strategy.experimental_local_results(sums)]


def open_group(backend: dict[str, str], replicas: int, world: World, threads: int) -> _Group:
    """See `microbenchmarks.all_reduces`."""
    if backend["device"] == "tpu":
        raise Unavailable("the all-reduce of a TPU is not measured: it is inside the program")
    tensorflow_devices.set_threads(threads)
    return _Group(tensorflow_devices.create_strategy(backend, replicas, world))


def _sum(vector: tf.Tensor) -> tf.Tensor:
    here = tf.identity(vector)  # on the replica's device: the sum goes where its operand is
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, here)
