"""Mixed precision in flax: what is computed in bfloat16, and what is not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from paragone.models.jax_layers import compute_in

RANDOM = np.random.default_rng(0)
LAYERS = {
    "conv": (lambda: nnx.Conv(3, 16, (3, 3), rngs=nnx.Rngs(0)), (32, 28, 28, 3)),
    "dense": (lambda: nnx.Linear(20, 16, rngs=nnx.Rngs(0)), (4096, 20)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_biases_are_summed_in_single_precision(name):
    """By XLA's own sum in bfloat16 they are off by a tenth of what random cotangents sum up to."""
    make, shape = LAYERS[name]
    layer, plain = make(), make()
    compute_in([layer], "bfloat16")
    plain.dtype = jnp.bfloat16
    inputs = jnp.asarray(RANDOM.normal(size=shape), jnp.bfloat16)
    outputs = layer(inputs)
    assert outputs.dtype == jnp.bfloat16
    assert jnp.array_equal(outputs, plain(inputs))
    cotangents = jnp.asarray(RANDOM.normal(size=outputs.shape), jnp.bfloat16)

    def loss(layer: nnx.Module) -> jax.Array:
        return (layer(inputs) * cotangents).astype(jnp.float32).sum()

    gradients, usual = (nnx.jit(nnx.grad(loss))(each) for each in (layer, plain))
    axes = tuple(range(cotangents.ndim - 1))
    expected = np.asarray(cotangents, np.float64).sum(axes)
    np.testing.assert_allclose(gradients["bias"][...], expected, rtol=1e-4, atol=1e-2)
    assert jnp.array_equal(gradients["kernel"][...], usual["kernel"][...])
