"""The precision in which the layers of a flax model compute."""

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

# By class of a layer, the attribute that multiplies inputs with a kernel, before the bias is added.
_PRODUCTS: dict[type, str] = {nnx.Conv: "conv_general_dilated", nnx.Linear: "dot_general"}


def compute_in(layers: Iterable[Any], precision: str) -> None:
    """Let the layers compute in this precision; their variables stay as they are.

    In bfloat16 the gradients of biases are summed in float32 nevertheless, as TensorFlow and PyTorch do. On a
    CPU XLA would add up the cotangents in bfloat16, which is off by a tenth of a random gradient. Before
    batch norm, where the sum should be 0, biases would wander, and running means lag behind them.
    """
    for layer in layers:
        layer.dtype = jnp.dtype(precision)
        if precision == "bfloat16" and getattr(layer, "bias", None) is not None:
            for kind, attribute in _PRODUCTS.items():
                if isinstance(layer, kind):
                    _sum_in_float32(layer, attribute)


def _sum_in_float32(layer: Any, attribute: str) -> None:
    """Take the bias's gradient where the product ends, and none where the layer adds it."""
    promote, product = layer.promote_dtype, getattr(layer, attribute)
    bias_of_call: list[jax.Array] = []  # between the two calls of one forward pass

    def promoted(arrays: tuple, **options: Any) -> tuple:
        inputs, kernel, bias = arrays
        bias_of_call[:] = [bias]
        return promote((inputs, kernel, jax.lax.stop_gradient(bias)), **options)

    def multiplied(*arrays: Any, **options: Any) -> jax.Array:
        return _with_gradient(product(*arrays, **options), bias_of_call.pop())

    layer.promote_dtype = promoted
    setattr(layer, attribute, multiplied)


@jax.custom_vjp
def _with_gradient(outputs: jax.Array, bias: jax.Array) -> jax.Array:
    """The outputs as they are; in the backward pass the gradient of a bias that is added to them."""
    return outputs


def _forward(outputs: jax.Array, bias: jax.Array) -> tuple[jax.Array, None]:
    return outputs, None


def _backward(_: None, cotangents: jax.Array) -> tuple[jax.Array, jax.Array]:
    axes = tuple(range(cotangents.ndim - 1))
    return cotangents, cotangents.sum(axes, dtype=jnp.float32)


_with_gradient.defvjp(_forward, _backward)
