"""Matrix products in JAX, each compiled, on one device."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np

from paragone.base.errors import Unavailable, first_line, says_memory_is_full
from paragone.engines.jax_devices import open_mesh
from paragone.microbenchmarks.products import OutOfMemory

_multiply = jax.jit(lambda a, b: jnp.matmul(a, b, precision="highest"))


def open_device(kind: str, threads: int) -> str:
    """See `microbenchmarks.products`; `threads` is set by the process's affinity."""
    jax.config.update("jax_enable_x64", True)  # or float64 would silently be float32
    return open_mesh(kind, 1).devices[0].device_kind


def put(array: np.ndarray, precision: str) -> jax.Array:
    """See `microbenchmarks.products`."""
    with _failures():
        return jnp.asarray(array, precision).block_until_ready()


def multiply(a: jax.Array, b: jax.Array) -> jax.Array:
    """See `microbenchmarks.products`."""
    with _failures():
        return _multiply(a, b)


def wait(tensor: jax.Array) -> None:
    """See `microbenchmarks.products`."""
    with _failures():
        tensor.block_until_ready()


def sample(tensor: jax.Array, steps: tuple[int, int]) -> np.ndarray:
    """See `microbenchmarks.products`."""
    return np.asarray(tensor[:: steps[0], :: steps[1]], np.float64)


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        text = first_line(error)
        if says_memory_is_full(text):
            raise OutOfMemory(text) from error
        if "UNIMPLEMENTED" in text:
            raise Unavailable(text) from error
        raise
