"""The JAX engine on made-up examples: several steps in one call, two devices, bfloat16."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from made_images import make_images
from workspace import changed, make_spec

from paragone.config.run_spec import Tuned
from paragone.data.batches import noise_batches, train_batches
from paragone.engines.jax import Jax
from paragone.models.jax import compute_in
from paragone.models.weights import Weights, starting

DATASET = make_images(train=72)  # four and a half batches
STEPS = 5


def trained(steps_per_call: int) -> tuple[Weights, int, list]:
    """Weights and updates after two epochs, and the metrics of each; the last batch is partial."""
    tuning = Tuned(options={"steps_per_call": steps_per_call} if steps_per_call > 1 else {})
    spec = make_spec("fashion-cnn", "jax", global_batch=16, precision="float64", tuning=tuning)
    spec = changed(spec, {"partial_batch": "keep"}, steps_per_epoch=None)
    engine = Jax()
    engine.build(spec, DATASET, 1)
    start = starting(engine.weights(), spec, None)[0]
    engine.set_weights(start)
    engine.warm_up(0.01, *noise_batches(DATASET, spec))
    metrics = []
    for epoch in (1, 2):
        rates = [0.05 / (epoch + step) for step in range(STEPS)]
        metrics.append(engine.train_epoch(epoch, rates, train_batches(DATASET, spec, epoch), STEPS))
    return engine.weights(), engine.updates(), metrics


def test_several_steps_in_one_call_are_those_of_single_calls():
    # In a process without JAX, whose devices and precision are set before its first operation.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        single, single_updates, one_by_one = process.submit(trained, 1).result()
        several, updates, together = process.submit(trained, 3).result()
    assert updates == single_updates == 2 * STEPS
    for one, other in zip(one_by_one, together, strict=True):
        assert other.loss == pytest.approx(one.loss, rel=1e-6)  # sums are in single precision
        assert other.scores == one.scores
    for name, values in several.items():
        np.testing.assert_allclose(values, single[name], rtol=1e-9, atol=1e-12, err_msg=name)


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
    compute_in(layer, "bfloat16")
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
