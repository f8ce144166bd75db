"""The host's batches as a tf.data pipeline."""

from collections.abc import Callable, Iterable

import tensorflow as tf


def pipeline(batches: Callable[[], Iterable[tuple]], *signature: tf.TensorSpec) -> tf.data.Dataset:
    """A pipeline over `batches()` as it is when an iteration begins, with prefetching.

    To be created once: that takes longer than several steps of a small model.
    """
    source = tf.data.Dataset.from_generator(batches, output_signature=signature)
    return source.prefetch(2).with_options(_untuned())


def _untuned() -> tf.data.Options:
    """No autotuning: there is nothing to tune, and it falsifies the clocks.

    The tuning thread sleeps 10 ms, 20 ms, 40 ms ..., and the end of an iterator may wait until it wakes:
    such windows last 0.64, 1.28, 2.56 ... s, often far longer than their work. It cannot be switched
    off in the iterators of `Strategy.distribute_datasets_from_function`.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return options
