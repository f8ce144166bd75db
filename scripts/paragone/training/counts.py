"""What an engine draws, and how often its optimizer updates the weights, counted beside it.

What is right is said by `parity.definition`, which shares no code with the data path. The digest of labels is
a sum mod 2^53, of each label times a number of its place in the order: those of all workers add up to that of
the whole batches, which is the same for any number of workers.
"""

import math
from collections.abc import Iterable, Iterator
from operator import eq
from typing import Any

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import Shard
from paragone.engines import Engine
from paragone.parity import definition
from paragone.records.run_record import Epoch

MODULUS = 2**53  # every reader of JSON has the integers below it
AT_ONCE = 2**24  # bytes of labels that wait until they are summed: after the steps, not in each
_DIGESTS = ("order", "validation_labels", "test_labels")
MOST = 64  # labels of an example that are summed, at equal distances


class Drawn:
    """The labels of the batches that a worker draws, `size` examples over all workers in each."""

    def __init__(self, shard: Shard, size: int) -> None:
        self._shard, self._size = shard, size
        self._waiting: list[tuple[np.ndarray, ...]] = []
        self._sums: list[int] = []

    def over(self, batches: Iterable[tuple]) -> Iterator[tuple]:
        """Yield the batches; of examples with weights, those of weight 0 do not count."""
        for batch in batches:
            self._waiting.append(batch[1:])
            if len(self._waiting) * batch[1].nbytes > AT_ONCE:
                self.sums()
            yield batch

    def sums(self) -> list[int]:
        """Return the sum of each batch so far."""
        for labels, *weights in self._waiting:
            of_replica = len(labels) // (self._shard.last - self._shard.first)
            first = len(self._sums) * self._size + self._shard.first * of_replica
            self._sums.append(label_sum(labels, first, *weights))
        self._waiting = []
        return self._sums

    @property
    def digest(self) -> int:
        """Return the sum over all batches."""
        return sum(self.sums()) % MODULUS


class Counts(Drawn):
    """Counts the updates of an engine's optimizer, and the batches that it draws, from its creation on.

    `steps`: the protocol's batches of the epoch; where a number of steps is given, so many whole ones.
    """

    def __init__(
        self, engine: Engine, spec: Spec, dataset: Dataset, epoch: int, steps: int | None = None
    ) -> None:
        super().__init__(engine.shard, spec.global_batch)
        rows = definition.rows(spec, dataset, epoch)
        if steps is not None:
            rows = definition.whole(definition.rows, spec, dataset, epoch, steps)
        right = Drawn(engine.shard, spec.global_batch)
        drawn = ((part, dataset.train_labels[part]) for part in map(engine.shard.of, rows))
        self.steps = sum(1 for _ in right.over(drawn))
        self._right = right.sums()
        self._engine, self._before = engine, engine.updates()

    @property
    def batches(self) -> int:
        """Return how many batches had the labels of the protocol at their step."""
        return sum(map(eq, self.sums(), self._right))

    @property
    def updates(self) -> int:
        """Return how often the optimizer has updated the weights."""
        return self._engine.updates() - self._before


def combined(of_workers: list[list[Epoch]], first: int) -> list[Epoch]:
    """Return the epochs of a run from those of its workers, of which each has counted its own part.

    `first`: that of this start. Of earlier ones a checkpoint has the part of rank 0 alone.
    """
    epochs = []
    for parts in zip(*of_workers, strict=True):
        digests = [key for key in _DIGESTS if getattr(parts[0], key) is not UNSET]
        values: dict[str, Any] = dict.fromkeys(digests, UNSET)
        if parts[0].epoch >= first:
            values = {key: sum(getattr(part, key) for part in parts) % MODULUS for key in values}
        values |= {key: min(getattr(part, key) for part in parts) for key in ("updates", "batches")}
        epochs.append(replace(parts[0], **values))
    return epochs


def tested_labels(spec: Spec, dataset: Dataset) -> list[int]:
    """Return the digest of the labels of each epoch's evaluation; one where all epochs have the same."""
    evaluation = spec.workload.evaluation
    epochs = spec.epochs if evaluation and evaluation.random_batches else 1
    tested = (definition.tested_rows(spec, dataset, epoch) for epoch in range(1, epochs + 1))
    return [label_sum(dataset.test_labels[rows], 0) % MODULUS for rows in tested]


def label_sum(labels: np.ndarray, first: int, weights: np.ndarray | None = None) -> int:
    """Return the sum mod 2^64 of labels (examples, ...) from a place on; `weights`: of examples."""
    numbers = np.ascontiguousarray(labels).view(np.uint32).reshape(len(labels), -1)
    numbers = numbers[:, :: math.ceil(numbers.shape[1] / MOST)].astype(np.uint64) + np.uint64(1)
    of_examples = numbers @ _factors(0, numbers.shape[1]) * _factors(first, len(numbers))
    return int(of_examples.sum() if weights is None else of_examples[weights > 0].sum())


def _factors(first: int, count: int) -> np.ndarray:
    """Return odd numbers of 64 bits for `count` places, as splitmix64 draws them."""
    mixed = np.arange(first + 1, first + 1 + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed | np.uint64(1)
