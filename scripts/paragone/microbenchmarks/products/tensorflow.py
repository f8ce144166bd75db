"""Matrix products in TensorFlow, eager, on one device."""

import os
import textwrap

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import tensorflow as tf

from paragone.base.errors import Unavailable
from paragone.microbenchmarks.products import OutOfMemory

_device = "/CPU:0"


def open_device(kind: str, threads: int) -> str:
    """See `microbenchmarks.products`."""
    global _device
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.config.experimental.enable_tensor_float_32_execution(False)
    if kind == "tpu":
        _start_tpu()
    _device = f"/{kind.upper()}:0"
    physical = tf.config.list_physical_devices(kind.upper())
    if not physical and not tf.config.list_logical_devices(kind.upper()):
        raise Unavailable(f"TensorFlow sees no {kind}")
    if kind == "gpu":
        tf.config.experimental.set_memory_growth(physical[0], True)
        return tf.config.experimental.get_device_details(physical[0]).get("device_name", "gpu")
    return kind


def put(array: np.ndarray, precision: str) -> tf.Tensor:
    """See `microbenchmarks.products`."""
    with _failures(), tf.device(_device):
        tensor = tf.cast(tf.constant(array), precision)
        wait(tensor)
    return tensor


def multiply(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """See `microbenchmarks.products`."""
    with _failures(), tf.device(_device):
        return tf.matmul(a, b)


def wait(tensor: tf.Tensor) -> None:
    """See `microbenchmarks.products`. On a CPU eager operators return when they are done."""
    if "TPU" in _device:
        tensor[0, 0].numpy()  # the only door: sync_devices knows GPUs alone
    else:
        tf.test.experimental.sync_devices()


def sample(tensor: tf.Tensor, steps: tuple[int, int]) -> np.ndarray:
    """See `microbenchmarks.products`."""
    with tf.device(_device):
        part = tensor[:: steps[0], :: steps[1]]
    with tf.device("/CPU:0"):
        return tf.cast(part, tf.float64).numpy()


def _start_tpu() -> None:
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        reason = textwrap.shorten(str(error), 120, placeholder=" ...")
        raise Unavailable(f"TensorFlow finds no tpu: {reason}") from error


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except tf.errors.ResourceExhaustedError as error:
        raise OutOfMemory(error.message.splitlines()[0]) from error
    except (tf.errors.NotFoundError, tf.errors.UnimplementedError) as error:
        raise Unavailable(error.message.splitlines()[0]) from error
