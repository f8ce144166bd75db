"""What engines report and records hold: devices, metrics, programs, FLOP."""

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

    The task says what the score is: the accuracy (a fraction), or the mean absolute error.
    """

    loss: float
    score: float


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


class FlopCount(Part, frozen=True):
    """FLOP of training on one example, forward and backward, and what counted them.

    Only convolutions and matrix products count, as in the peak that they are compared with: a
    multiplication with its addition is two. The rest of a model and the optimizer are not counted.
    """

    per_example: Count
    counter: str
