"""Other ways to training batches than the mapped arrays: those of tutorials, to measure what they cost.

One module each, imported by the name that `loader` of a backend gives. It has `LOADER`, a class as `Loader`
describes it, `ENGINES`, the engines that it feeds, and `AUGMENTS`, whether it applies what `Step` draws. The
order of examples and all draws are the project's, so that what is trained stays the same. Evaluation reads
the mapped arrays.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast

import numpy as np

from paragone.base import plugins
from paragone.base.errors import needing_packages
from paragone.data.loader import Dataset

__path__ = plugins.extended(__path__, "data/loaders")

Batch = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Step:
    """What a training step is fed with in this process.

    `rows`: of the training arrays, (local batch,) int64. `drawn`: for their augmentation, (local batch, 3) as
    `augmentation.draw` has it; None without any.
    """

    rows: np.ndarray
    drawn: np.ndarray | None


class Loader(Protocol):
    """Made once per process, when the framework has its devices; what it has to prepare is prepared then."""

    def __init__(self, dataset: Dataset, examples: int) -> None:
        """Of the first `examples` training examples. Raises `Unavailable` for data that it cannot read."""

    def batches(self, steps: Iterator[Step]) -> Iterator[Batch]:
        """Yield (inputs, labels) of each step, as the mapped arrays have them.

        inputs: (local batch, ...) of the stored dtype, or float32 where there is augmentation; labels:
        (local batch,) int32.
        """


@lru_cache(maxsize=1)  # a process trains one run
def create(name: str, dataset: Dataset, examples: int) -> Loader:
    """Import a loader's module and make the loader; another call for the same data set returns it again.

    Raises `Unavailable` without what it imports, or for data that it cannot read.
    """
    with needing_packages():
        module = plugins.load("data/loaders", name)
    with plugins.explaining():
        return cast(Loader, module.LOADER(dataset, examples))
