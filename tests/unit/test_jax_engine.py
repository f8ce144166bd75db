"""The JAX engine on a few made-up images: several steps in one call."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from made_images import make_images
from workspace import changed, make_spec

from paragone.config.run_spec import Tuned
from paragone.data.batches import noise_batches, train_batches
from paragone.engines.jax import Jax
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
