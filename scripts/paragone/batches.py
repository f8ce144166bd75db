"""The one input pipeline: host batches for every engine, drawn from the mapped arrays.

Fancy indexing of a mapped uint8 array reads more than a million small images a second, so no
framework's loader is needed, and every backend is fed the same bytes in the same order.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from paragone.data import Dataset


@dataclass(frozen=True)
class Shard:
    """The part of every global batch that one process feeds: replicas [first, last) of `replicas`."""

    first: int
    last: int
    replicas: int

    def of(self, batch: np.ndarray) -> np.ndarray:
        """The rows of a global batch (leading axis) that belong to this process."""
        per_replica = len(batch) // self.replicas
        return batch[self.first * per_replica : self.last * per_replica]


WHOLE = Shard(0, 1, 1)


def train_batches(
    dataset: Dataset, order: np.ndarray, global_batch: int, shard: Shard = WHOLE
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (inputs, labels) of each whole global batch in `order`; a partial last one is dropped.

    inputs: (local batch, ...) in the data set's own dtype; labels: (local batch,) int32.
    """
    for start in range(0, len(order) - global_batch + 1, global_batch):
        chosen = shard.of(order[start : start + global_batch])
        yield dataset.train_inputs[chosen], dataset.train_labels[chosen]


def evaluation_batches(
    dataset: Dataset, global_batch: int, shard: Shard = WHOLE
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (inputs, labels, weights) over the whole test split in order.

    The last batch is filled up with its first example at weight 0, so that shapes are constant and
    each example counts once. weights: (local batch,) float32.
    """
    examples = len(dataset.test_labels)
    for start in range(0, examples, global_batch):
        index = np.arange(start, start + global_batch)
        chosen = shard.of(np.where(index < examples, index, start))
        weights = shard.of((index < examples).astype(np.float32))
        yield dataset.test_inputs[chosen], dataset.test_labels[chosen], weights


def noise_batch(dataset: Dataset, size: int) -> tuple[tuple, tuple]:
    """A training and a test batch that teach nothing: constant inputs, labels without meaning."""
    inputs = np.zeros((size, *dataset.train_inputs.shape[1:]), dataset.train_inputs.dtype)
    labels = (np.arange(size) % len(dataset.class_names)).astype(np.int32)
    return (inputs, labels), (inputs, labels, np.ones(size, np.float32))
