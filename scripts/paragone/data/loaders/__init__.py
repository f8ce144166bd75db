"""Loaders: a framework's own input pipeline in place of the mapped arrays, to measure what it costs.

One module per loader, imported by the name under `loader` of a backend. It has `LOADER`, a class with the
methods of `Loader`; the engines that it feeds, and whether it applies `Step.drawn`, are a row of `LOADERS` in
`config/engines.py`. The order of examples and all random draws come from Paragone, so that training is the
same. Evaluation reads the mapped arrays.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast

import numpy as np

from paragone.base import plugins
from paragone.base.errors import needing_packages
from paragone.data import Dataset

__path__ = plugins.extended(__path__, "data/loaders")

Batch = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Step:
    """The examples of one training step in this process.

    `rows`: indices into the training arrays, (local batch,) int64. `drawn`: draws of their augmentation,
    a row each, as `augmentation.draw` returns them; None without augmentation.
    """

    rows: np.ndarray
    drawn: np.ndarray | None


class Loader(Protocol):
    """Created once per process, after the framework has opened its devices; prepares all it needs then."""

    def __init__(self, dataset: Dataset, examples: int) -> None:
        """Prepare the first `examples` training examples. Raises `Unavailable` for data it cannot read."""

    def batches(self, steps: Iterator[Step]) -> Iterator[Batch]:
        """Yield (inputs, labels) of each step, equal to those of the mapped arrays.

        inputs: (local batch, ...) of the stored dtype, or float32 where there is augmentation; labels:
        (local batch,) int32.
        """


@lru_cache(maxsize=1)  # a process trains one run
def create(name: str, dataset: Dataset, examples: int) -> Loader:
    """Import a loader's module and create the loader; a second call with the same arguments returns it again.

    Raises `Unavailable` if a package is missing, or for data that the loader cannot read.
    """
    with needing_packages():
        module = plugins.load("data/loaders", name, "LOADER")
    with plugins.explaining():
        return cast(Loader, module.LOADER(dataset, examples))
