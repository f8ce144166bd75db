"""The `tf.distribute` strategies, and the devices they find."""

import os

import tensorflow as tf

from paragone.engines import Unavailable
from paragone.spec import Spec


def create_strategy(spec: Spec) -> tf.distribute.Strategy:
    """The strategy of the backend over as many devices as the run has replicas."""
    kind = spec.backend["device"].upper()
    if spec.backend["strategy"] == "tpu":
        strategy = _tpu_strategy()
    else:
        devices = _open_devices(
            kind, 1 if spec.backend["strategy"] == "multiworker" else spec.replicas
        )
        if spec.backend["strategy"] == "multiworker":
            strategy = tf.distribute.MultiWorkerMirroredStrategy()  # reads TF_CONFIG
        else:
            strategy = tf.distribute.MirroredStrategy(devices)
    if strategy.num_replicas_in_sync != spec.replicas:
        raise Unavailable(
            f"{spec.replicas} replica(s) asked for; {spec.backend['name']} has "
            f"{strategy.num_replicas_in_sync} here"
        )
    return strategy


def _open_devices(kind: str, count: int) -> list[str]:
    """The names of `count` devices; logical ones that share the cores, where the kind is CPU."""
    physical = tf.config.list_physical_devices(kind)
    if kind == "CPU":
        logical = [tf.config.LogicalDeviceConfiguration()] * count
        tf.config.set_logical_device_configuration(physical[0], logical)
    elif len(physical) < count:
        raise Unavailable(
            f"{count} replica(s) need as many {kind}s; TensorFlow sees {len(physical)}"
        )
    else:
        for device in physical:
            tf.config.experimental.set_memory_growth(device, True)
    return [f"/{kind}:{index}" for index in range(count)]


def _tpu_strategy() -> tf.distribute.Strategy:
    """All cores of the TPU that is local or that TPU_NAME names."""
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(
            os.environ.get("TPU_NAME", "local")
        )
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise Unavailable(f"TensorFlow finds no TPU: {str(error).split('. ')[0]}") from error
    return tf.distribute.TPUStrategy(resolver)
