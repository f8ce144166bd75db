"""What engines report and records hold: devices, metrics, programs, FLOP."""

import math
from typing import Annotated

from msgspec import Meta

from paragone.base.typed_json import Count, Part, Whole


class Devices(Part, frozen=True):
    """What a run trains on: the kind of device, copies of the model, and processes."""

    kind: Annotated[str, Meta(pattern="^(cpu|gpu|tpu)$")]
    replicas: Count
    workers: Count


class Metrics(Part, frozen=True):
    """Means over examples: the loss, not finite when the run diverged, and the score.

    The task says what the score is: the accuracy or micro F1 (fractions), or the mean absolute error.
    """

    loss: float
    score: float

    @classmethod
    def of_sums(cls, loss: float, weight: float, score: float, count: float) -> "Metrics":
        """The quotients of sums over examples; a score of 0 where nothing counts, and no finite loss."""
        return cls(loss / weight if weight else math.nan, score / count if count else 0.0)


class Programs(Part, frozen=True):
    """How many programs a framework has compiled for a run, and how many it has found in its cache."""

    compiled: Whole
    cached: Whole


class Modes(Part, frozen=True):
    """The modes that a framework reports as in force.

    `math_mode`: how it multiplies float32 matrices: "ieee", or "tf32" or "bfloat16" where it rounds them
    first. `deterministic`: whether it uses only kernels that repeat to the last bit. `collectives`: the
    library that adds up over devices or processes (nccl, gloo, ring, xla), None with one.
    """

    math_mode: str
    deterministic: bool
    collectives: str | None
