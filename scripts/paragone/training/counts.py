"""What an engine did in an epoch: the updates that its optimizer counts, and the batches that it drew."""

from collections.abc import Iterable, Iterator

import numpy as np

from paragone.config.run_spec import RESIDENT, Spec
from paragone.data import Dataset
from paragone.engines import Engine
from paragone.parity import definition


class Counts:
    """Counts from its creation on, for an epoch of so many whole batches that begins with `epoch`."""

    def __init__(
        self, engine: Engine, spec: Spec, dataset: Dataset, epoch: int, steps: int
    ) -> None:
        shard = engine.shard
        share = spec.global_batch // shard.replicas
        own = slice(shard.first * share, shard.last * share)
        rows = [
            each[own] for each in definition.whole(definition.rows, spec, dataset, epoch, steps)
        ]
        self._labels = [dataset.train_labels[each] for each in rows]
        # Of each batch the first input, which augmentation changes.
        self._inputs: list[np.ndarray] | None = None
        if spec.backend.feed == RESIDENT:
            self._inputs = [each[0] for each in rows]
        elif not spec.workload.augmentation:
            self._inputs = [dataset.train_inputs[each[0]] for each in rows]
        self._engine, self._before = engine, engine.updates()
        self.batches = 0

    def over(self, batches: Iterable[tuple]) -> Iterator[tuple]:
        """Pass batches on, and count those that are in the order of the protocol."""
        for step, batch in enumerate(batches):
            if step < len(self._labels):
                right = np.array_equal(batch[1], self._labels[step])
                if right and self._inputs:
                    right = np.array_equal(batch[0][0], self._inputs[step])
                self.batches += right
            yield batch

    @property
    def updates(self) -> int:
        """How often the optimizer has updated the weights."""
        return self._engine.updates() - self._before
