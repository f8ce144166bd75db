"""All-reduce of `tf.distribute` between the replicas of a strategy, by its own cross-device operations."""

import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import numpy as np
import tensorflow as tf

from paragone.base.errors import Unavailable
from paragone.microbenchmarks.all_reduces import Place


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


def open_group(backend: dict[str, str], place: Place, threads: int) -> _Group:
    """See `microbenchmarks.all_reduces`."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    kind = backend["device"].upper()
    if kind == "TPU":
        raise Unavailable("the all-reduce of a TPU is not measured: it lies inside the program")
    if backend["strategy"] == "multiworker":
        task = {"type": "worker", "index": place.rank}
        os.environ["TF_CONFIG"] = json.dumps(
            {"cluster": {"worker": list(place.addresses)}, "task": task}
        )
        return _Group(tf.distribute.MultiWorkerMirroredStrategy())
    physical = tf.config.list_physical_devices(kind)
    if kind == "CPU":
        logical = [tf.config.LogicalDeviceConfiguration()] * place.replicas
        tf.config.set_logical_device_configuration(physical[0], logical)
    elif len(physical) < place.replicas:
        raise Unavailable(f"{place.replicas} gpus needed; TensorFlow sees {len(physical)}")
    devices = [f"/{kind}:{index}" for index in range(place.replicas)]
    return _Group(tf.distribute.MirroredStrategy(devices))


def _sum(vector: tf.Tensor) -> tf.Tensor:
    here = tf.identity(vector)  # on the replica's device: the sum goes where its operand is
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, here)
