"""Matrix products in TensorFlow, eager, on one device."""

import numpy as np

from paragone.base.tensorflow import tf
from paragone.engines import tensorflow_devices

_device = "/CPU:0"


def open_device(kind: str, threads: int) -> str:
    global _device
    tensorflow_devices.set_threads(threads)
    _device, model = tensorflow_devices.open_device(kind)
    return model


def put(array: np.ndarray, precision: str) -> tf.Tensor:
    with tf.device(_device):
        tensor = tf.cast(tf.constant(array), precision)
        wait(tensor)
    return tensor


def multiply(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    with tf.device(_device):
        return tf.matmul(a, b)


def wait(tensor: tf.Tensor) -> None:
    """Wait for the device. On a CPU eager operators return when they are done."""
    if "TPU" in _device:
        tensor[0, 0].numpy()  # the only door: sync_devices knows GPUs alone
    else:
        tf.test.experimental.sync_devices()


def sample(tensor: tf.Tensor, steps: tuple[int, int]) -> np.ndarray:
    with tf.device(_device):
        part = tensor[:: steps[0], :: steps[1]]
    with tf.device("/CPU:0"):
        return tf.cast(part, tf.float64).numpy()
