"""The devices that TensorFlow opens, for the engine and the microbenchmarks: threads, strategies, TPU."""

import json
import os

import tensorflow as tf

from paragone.base.errors import Unavailable, require_devices
from paragone.base.ranks import COLLECTIVE_TIMEOUT, World


def set_threads(threads: int) -> None:
    """Use at most so many threads; before the first operation of the process."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def create_strategy(backend: dict[str, str], replicas: int, world: World) -> tf.distribute.Strategy:
    """The strategy of the backend over as many devices as there are replicas. Raises `Unavailable`."""
    if backend["strategy"] == "tpu":
        strategy = tf.distribute.TPUStrategy(start_tpu())
    else:
        devices = _open_devices(backend["device"], replicas // world.workers, world)
        if backend["strategy"] == "multiworker":
            strategy = _multiworker_strategy(world)
        else:
            strategy = tf.distribute.MirroredStrategy(devices)
    if strategy.num_replicas_in_sync != replicas:
        raise Unavailable(
            f"{replicas} replica(s) asked for; {backend['name']} has "
            f"{strategy.num_replicas_in_sync} here"
        )
    return strategy


def open_device(kind: str) -> tuple[str, str]:
    """Open the first device of a kind: its name for `tf.device`, and the name of its model.

    Raises `Unavailable`.
    """
    if kind == "tpu":
        start_tpu()
    physical = tf.config.list_physical_devices(kind.upper())
    if not physical and not tf.config.list_logical_devices(kind.upper()):
        require_devices("TensorFlow", kind, 1, 0)
    model = kind
    if kind == "gpu":
        tf.config.experimental.set_memory_growth(physical[0], True)
        model = tf.config.experimental.get_device_details(physical[0]).get("device_name", kind)
    return f"/{kind.upper()}:0", model


def start_tpu() -> tf.distribute.cluster_resolver.TPUClusterResolver:
    """Initialize the TPU that is local or that TPU_NAME names. Raises `Unavailable`."""
    try:
        return tf.distribute.cluster_resolver.TPUClusterResolver.connect(
            os.environ.get("TPU_NAME", "local")
        )
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise Unavailable(f"TensorFlow finds no TPU: {str(error).split('. ')[0]}") from error


def workers_of(strategy: tf.distribute.Strategy) -> int:
    """How many processes a strategy works with."""
    resolver = strategy.cluster_resolver
    jobs = resolver.cluster_spec().as_dict() if resolver else {}
    return max(1, len(jobs.get("worker", ())))


def _open_devices(kind: str, count: int, world: World) -> list[str]:
    """The names of this worker's `count` devices; on a CPU, logical ones that share the cores."""
    physical = tf.config.list_physical_devices(kind.upper())
    if kind == "cpu":
        logical = [tf.config.LogicalDeviceConfiguration()] * count
        tf.config.set_logical_device_configuration(physical[0], logical)
    else:
        require_devices("TensorFlow", kind, count * world.local_workers, len(physical))
        own = physical[count * world.local_rank : count * (world.local_rank + 1)]
        tf.config.set_visible_devices(own, kind.upper())
        for device in own:
            tf.config.experimental.set_memory_growth(device, True)
    return [f"/{kind.upper()}:{index}" for index in range(count)]


def _multiworker_strategy(world: World) -> tf.distribute.Strategy:
    """All workers. TF_CONFIG is set here alone: one from outside would name other workers."""
    os.environ.pop("TF_CONFIG", None)
    if world.workers > 1:
        cluster = {"worker": world.addresses}
        task = {"type": "worker", "index": world.rank}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
    options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=COLLECTIVE_TIMEOUT)
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
