"""The `tf.distribute` strategies, and the devices they find."""

import json
import os

import tensorflow as tf

from paragone.base.errors import Unavailable
from paragone.base.ranks import COLLECTIVE_TIMEOUT, World
from paragone.config.run_spec import Spec


def create_strategy(spec: Spec, world: World) -> tf.distribute.Strategy:
    """The strategy of the backend over as many devices as the run has replicas."""
    kind, name = spec.backend["device"].upper(), spec.backend["strategy"]
    if name == "tpu":
        strategy = _tpu_strategy()
    else:
        devices = _open_devices(kind, spec.replicas // spec.workers, world)
        if name == "multiworker":
            strategy = _multiworker_strategy(world)
        else:
            strategy = tf.distribute.MirroredStrategy(devices)
    if strategy.num_replicas_in_sync != spec.replicas:
        raise Unavailable(
            f"{spec.replicas} replica(s) asked for; {spec.backend['name']} has "
            f"{strategy.num_replicas_in_sync} here"
        )
    return strategy


def workers_of(strategy: tf.distribute.Strategy) -> int:
    """How many processes a strategy works with."""
    resolver = strategy.cluster_resolver
    return max(1, resolver.cluster_spec().num_tasks("worker")) if _has_workers(resolver) else 1


def _has_workers(resolver: tf.distribute.cluster_resolver.ClusterResolver | None) -> bool:
    return resolver is not None and "worker" in resolver.cluster_spec().jobs


def _open_devices(kind: str, count: int, world: World) -> list[str]:
    """The names of this worker's `count` devices; logical ones that share the cores, on a CPU."""
    physical = tf.config.list_physical_devices(kind)
    if kind == "CPU":
        logical = [tf.config.LogicalDeviceConfiguration()] * count
        tf.config.set_logical_device_configuration(physical[0], logical)
    elif len(physical) < count * world.local_workers:
        raise Unavailable(
            f"{count * world.local_workers} replica(s) on one host need as many {kind}s; "
            f"TensorFlow sees {len(physical)}"
        )
    else:
        own = physical[count * world.local_rank : count * (world.local_rank + 1)]
        tf.config.set_visible_devices(own, kind)
        for device in own:
            tf.config.experimental.set_memory_growth(device, True)
    return [f"/{kind}:{index}" for index in range(count)]


def _multiworker_strategy(world: World) -> tf.distribute.Strategy:
    """All workers of the run. TF_CONFIG is ours alone: one from outside would name other workers."""
    os.environ.pop("TF_CONFIG", None)
    if world.workers > 1:
        cluster = {"worker": world.addresses}
        task = {"type": "worker", "index": world.rank}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
    options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=COLLECTIVE_TIMEOUT)
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)


def _tpu_strategy() -> tf.distribute.Strategy:
    """All cores of the TPU that is local or that TPU_NAME names."""
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(
            os.environ.get("TPU_NAME", "local")
        )
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise Unavailable(f"TensorFlow finds no TPU: {str(error).split('. ')[0]}") from error
    return tf.distribute.TPUStrategy(resolver)
