"""Counts what an engine did in an epoch: updates of its optimizer, and batches that it drew."""

from collections.abc import Iterable, Iterator

import numpy as np

from paragone.config.run_spec import RESIDENT, Spec
from paragone.data import Dataset
from paragone.engines import Engine
from paragone.parity import definition


class Counts:
    """Counts from its creation on, for an epoch of `steps` whole batches in the order of `epoch`."""

    def __init__(
        self, engine: Engine, spec: Spec, dataset: Dataset, epoch: int, steps: int
    ) -> None:
        shard = engine.shard
        share = spec.global_batch // shard.replicas
        part = slice(shard.first * share, shard.last * share)
        batches = definition.whole(definition.rows, spec, dataset, epoch, steps)
        rows = [batch[part] for batch in batches]
        self._labels = [dataset.train_labels[batch] for batch in rows]
        # The first input of each batch, unless augmentation changes it.
        self._inputs: list[np.ndarray] | None = None
        if spec.backend.feed == RESIDENT:
            self._inputs = [batch[0] for batch in rows]
        elif not spec.workload.augmentation:
            self._inputs = [dataset.train_inputs[batch[0]] for batch in rows]
        self._engine, self._before = engine, engine.updates()
        self.batches = 0

    def over(self, batches: Iterable[tuple]) -> Iterator[tuple]:
        """Yield the batches, and count those that are in the order of the protocol."""
        for step, batch in enumerate(batches):
            if step < len(self._labels):
                right = np.array_equal(batch[1], self._labels[step])
                if right and self._inputs:
                    right = np.array_equal(batch[0][0], self._inputs[step])
                self.batches += right
            yield batch

    @property
    def updates(self) -> int:
        """Return how often the optimizer has updated the weights."""
        return self._engine.updates() - self._before
