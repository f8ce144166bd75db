"""The host's batches as a tf.data pipeline."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np

from paragone.base.tensorflow import tf

AT_ONCE = 2**20  # bytes that one call of the generator hands over, if batches are smaller


def pipeline(batches: Callable[[], Iterable[tuple]], *signature: tf.TensorSpec) -> tf.data.Dataset:
    """A pipeline over `batches()` as it is when an iteration begins, with prefetching.

    To be created once: that takes longer than several steps of a small model. Small batches come from
    Python several at a time: each call of the generator costs a part of a step.
    """
    several = [tf.TensorSpec((None, *one.shape), one.dtype) for one in signature]
    source = tf.data.Dataset.from_generator(
        lambda: _stacked(batches()), output_signature=tuple(several)
    )
    return source.unbatch().prefetch(2).with_options(_untuned())


def _stacked(batches: Iterable[tuple]) -> Iterator[tuple]:
    """As many batches as make up `AT_ONCE` bytes, at least one, along a new first axis."""
    batches = iter(batches)
    for first in batches:
        count = max(1, AT_ONCE // sum(array.nbytes for array in first))
        group = [first, *islice(batches, count - 1)]
        yield tuple(
            map(np.stack, zip(*group, strict=True)) if group[1:] else (a[None] for a in first)
        )


def _untuned() -> tf.data.Options:
    """No autotuning: there is nothing to tune, and it falsifies the clocks.

    The tuning thread sleeps 10 ms, 20 ms, 40 ms ..., and the end of an iterator may wait until it wakes:
    such windows last 0.64, 1.28, 2.56 ... s, often far longer than their work. It cannot be switched
    off in the iterators of `Strategy.distribute_datasets_from_function`.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return options
