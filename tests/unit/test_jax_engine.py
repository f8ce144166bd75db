"""The JAX engine on made-up examples: several steps in one call, two devices, bfloat16."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from made_images import make_images, make_texts
from workspace import changed, make_spec

from paragone.config.run_spec import Tuned
from paragone.data.batches import noise_batches, train_batches
from paragone.engines.jax import Jax
from paragone.models.jax import MaxPool, compute_in
from paragone.models.weights import Weights, initial

DATASET = make_images(train=72)  # nine batches of 8, or of 16 four and a half


def trained(steps_per_call: int, batch: int) -> tuple[Weights, int, list]:
    """Weights and updates after two epochs, and the metrics of each; the last batch may be partial."""
    tuning = Tuned(options={"steps_per_call": steps_per_call} if steps_per_call > 1 else {})
    spec = make_spec("fashion-cnn", "jax", global_batch=batch, precision="float64", tuning=tuning)
    spec = changed(spec, {"partial_batch": "keep"}, steps_per_epoch=None)
    engine = Jax()
    engine.build(spec, DATASET, 1)
    shapes = {name: values.shape for name, values in engine.weights().items()}
    start = initial(shapes, spec, None)[0]
    engine.set_weights(start)
    engine.warm_up(0.01, *noise_batches(DATASET, spec))
    steps, metrics = -(-72 // batch), []
    for epoch in (1, 2):
        rates = [0.05 / (epoch + step) for step in range(steps)]
        metrics.append(engine.train_epoch(epoch, rates, train_batches(DATASET, spec, epoch), steps))
    return engine.weights(), engine.updates(), metrics


@pytest.mark.parametrize(("batch", "steps_per_call"), [(8, 4), (16, 3)])
def test_several_steps_in_one_call_are_those_of_single_calls(batch, steps_per_call):
    # In a process without JAX, whose devices and precision are set before its first operation.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        single, single_updates, one_by_one = process.submit(trained, 1, batch).result()
        several, updates, together = process.submit(trained, steps_per_call, batch).result()
    assert updates == single_updates == 2 * -(-72 // batch)
    for one, other in zip(one_by_one, together, strict=True):
        assert other.loss == pytest.approx(one.loss, rel=1e-6)  # sums are in single precision
        assert other.score == one.score
    for name, values in several.items():
        np.testing.assert_allclose(values, single[name], rtol=1e-9, atol=1e-12, err_msg=name)


def trained_by_two_devices_on_two_cores() -> int:
    """Return the number of updates of 500 steps of the text CNN."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    texts = make_texts(train=16_000, length=300, vocabulary=30_000)
    spec = make_spec("reuters-cnn", "jax", replicas=2, global_batch=32)
    engine = Jax()
    engine.build(spec, texts, 2)
    engine.warm_up(0.01, *noise_batches(texts, spec))
    before = engine.updates()
    engine.train_epoch(1, [0.001] * 500, train_batches(texts, spec, 1), 500)
    return engine.updates() - before


def test_devices_that_wait_for_each_other_leave_a_thread_to_compute():
    """With a pool of two threads both wait in reductions, and XLA aborts the process after a minute."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        assert process.submit(trained_by_two_devices_on_two_cores).result() == 500


RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(2, 5, 6, 3), (2, 7, 3)], ids=str)
def test_pools_by_comparison_are_those_of_a_window_reduction(shape):
    """With many equal values, of which the first has the gradient, and one that is not a number."""
    features = jnp.asarray(RANDOM.integers(3, size=shape), jnp.float32)
    features = features.at[(0, *[1] * (len(shape) - 2), 0)].set(jnp.nan)
    pooled = [shape[0], *(side // 2 for side in shape[1:-1]), shape[-1]]
    cotangents = jnp.asarray(RANDOM.normal(size=pooled), jnp.float32)
    window, compared = MaxPool(len(shape) - 2), MaxPool(len(shape) - 2)
    compared.compares = True
    np.testing.assert_array_equal(compared(features), window(features))
    assert int(jnp.isnan(compared(features)).sum()) == 1
    gradients = [
        jax.vjp(pool, jnp.nan_to_num(features))[1](cotangents)[0] for pool in (compared, window)
    ]
    np.testing.assert_array_equal(*gradients)


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
