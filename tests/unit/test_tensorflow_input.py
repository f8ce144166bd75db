"""Batches of the host as a tf.data pipeline."""

import numpy as np
import pytest
import tensorflow as tf

from paragone.engines import tensorflow


@pytest.mark.parametrize("at_once", [1, 130, 2**20])
def test_batches_come_out_as_they_went_in(monkeypatch, at_once):
    """However many one call of the generator hands over: one, several and a rest, all."""
    monkeypatch.setattr(tensorflow, "AT_ONCE", at_once)
    batches = [(np.full((4, 3), step, np.uint8), np.arange(4) + step) for step in range(7)]
    pipeline = tensorflow.pipeline(
        lambda: given, tf.TensorSpec((None, 3), tf.uint8), tf.TensorSpec((None,), tf.int64)
    )
    for given in (batches, iter(batches[:2]), batches[:1], []):
        expected = list(given) if isinstance(given, list) else batches[:2]
        found = list(pipeline.as_numpy_iterator())
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert all(map(np.array_equal, one, other))
