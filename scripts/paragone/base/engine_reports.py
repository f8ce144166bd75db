"""What engines report and records hold: devices, metrics, programs, FLOP."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Devices:
    """What a run trains on: the kind of device, copies of the model, and processes."""

    kind: str
    replicas: int
    workers: int


@dataclass(frozen=True)
class Metrics:
    """Mean loss (nats; not finite when the run diverged) and accuracy (fraction) over examples."""

    loss: float
    accuracy: float


@dataclass(frozen=True)
class Programs:
    """How many programs a framework has compiled for a run, and how many it has found in its cache."""

    compiled: int
    cached: int


@dataclass(frozen=True)
class Modes:
    """What a framework has in force, as it says itself.

    `math_mode`: how it multiplies float32 matrices: "ieee", or "tf32" or "bfloat16" where it rounds them
    first. `deterministic`: whether it takes kernels alone that repeat to the last bit. `collectives`: the
    library that adds up over devices or processes, None with one.
    """

    math_mode: str
    deterministic: bool
    collectives: str | None


@dataclass(frozen=True)
class FlopCount:
    """FLOP of training on one example, forward and backward, and by what they were counted.

    Those of convolutions and products of matrices, as the peak that they are compared with counts them:
    a multiplication with its addition is two. Nothing else of a model, nor the optimizer, is counted.
    """

    per_example: int
    counter: str
