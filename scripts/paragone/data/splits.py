"""Which example goes where: the splits that a source has, or a part that is held out for testing."""

import math
from dataclasses import dataclass

import numpy as np

KEY = 80_20  # of the permutation: part of what the arrays are


@dataclass(frozen=True)
class Places:
    """The place of every example of a stream: below `train` a row of the training split, then of the test."""

    position: np.ndarray
    train: int


def hold_out(examples: int, share: float, rank: np.ndarray | None) -> Places:
    """A `share` of the examples, drawn by a Philox permutation, is the test split; both are in its order.

    rank: see `Raw`; the same examples stored in another order are split alike.
    """
    order = np.random.Generator(np.random.Philox(key=KEY)).permutation(examples)
    position = np.empty(examples, np.int64)
    position[order] = np.arange(examples)
    test = math.ceil(examples * share - 1e-9)
    return Places(position if rank is None else position[rank], examples - test)
