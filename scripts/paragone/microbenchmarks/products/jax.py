"""Matrix products in JAX, each compiled, on one device."""

import jax
import jax.numpy as jnp
import numpy as np

from paragone.engines.jax_devices import open_mesh

multiply = jax.jit(lambda a, b: jnp.matmul(a, b, precision="highest"))


def open_device(kind: str, threads: int) -> str:
    """Open the device; `threads` is set by the process's affinity."""
    jax.config.update("jax_enable_x64", True)  # or float64 would silently be float32
    return open_mesh(kind, 1).devices[0].device_kind


def put(array: np.ndarray, precision: str) -> jax.Array:
    return jnp.asarray(array, precision).block_until_ready()


def wait(tensor: jax.Array) -> None:
    tensor.block_until_ready()


def sample(tensor: jax.Array, steps: tuple[int, int]) -> np.ndarray:
    return np.asarray(tensor[:: steps[0], :: steps[1]], np.float64)
