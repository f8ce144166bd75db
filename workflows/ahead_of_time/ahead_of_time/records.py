"""What is compiled, for what, and what came of it: the types of the records, which are JSON files.

Sizes are bytes and times seconds. Sizes, times and FLOP are those of one device and one step.
"""

from typing import Literal

from paragone.base.typed_json import Part

Status = Literal["compiled", "too_large", "refused", "no_compiler", "not_exported"]


class NotCompiled(Exception):
    """Why a step was not compiled, in one line: with which status its record ends."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status


class Example(Part, frozen=True):
    """What a program depends on of a data set: the shape of a stored example, the number of classes, and of
    word indices (`vocabulary`, None for images)."""

    shape: tuple[int, ...]
    classes: int
    vocabulary: int | None = None


class Device(Part, frozen=True):
    """The documented peaks of one device, as its compiler counts devices.

    `flops`: FLOP/s by precision. `memory_bandwidth` and `link_bandwidth`: bytes/s, the latter of all links
    of a device together, in one direction. `cache`: bytes that a cache may keep of each array; 0 where the
    compiler itself says what is kept on the chip. `per_chip`: devices that reach each other without links.
    `sources`: who documents each of these numbers.
    """

    name: str
    flops: dict[str, float]
    memory: float
    memory_bandwidth: float
    link_bandwidth: float
    sources: dict[str, str]
    cache: int = 0
    per_chip: int = 1


class Target(Part, frozen=True):
    """A machine to compile for: the first `devices` devices of a topology as its compiler names it."""

    label: str
    compiler: Literal["tpu", "cuda"]
    topology: str
    devices: int
    device: Device


class Exported(Part, frozen=True):
    """A step as it leaves its framework: forward and backward pass, optimizer, batch-norm statistics.

    `replicas` programs run side by side and meet in their own collectives; the compiler divides each into
    `partitions`. `parameters`: trainable weights. `flop_per_example`: as `engines.reference` counts them;
    None without PyTorch.
    """

    replicas: int
    partitions: int
    parameters: int
    flop_per_example: int | None


class Step(Part, frozen=True):
    """The training step of a workload on a backend over `devices`.

    `global_batch`: examples of one step over all devices. Without `exported`, `reason` says why.
    """

    name: str
    workload: str
    model: dict[str, object]
    backend: str
    precision: str
    devices: int
    global_batch: int
    exported: Exported | None
    reason: str = ""

    @property
    def label(self) -> str:
        """The workload, with the width of its model where that has one."""
        width = self.model.get("width")
        return self.workload if width is None else f"{self.workload}, width {width}"


class Collective(Part, frozen=True):
    """`count` equal collectives: `bytes` of the result on each device, `group` devices take part together."""

    kind: str
    bytes: int
    group: int
    count: int


class Cost(Part, frozen=True):
    """What a compiled program says of itself.

    `flop`: the compiler's count of all operations; None where it counts nothing. `memory_traffic`: bytes
    read from and written to main memory. `memory`: bytes of arguments, results, intermediate values and
    the program, at once.
    """

    flop: float | None
    memory_traffic: float
    memory: int
    collectives: list[Collective]


class Compilation(Part, frozen=True):
    """One step compiled for one target in so many seconds, or why it was not; nothing was run."""

    step: Step
    target: Target
    software: dict[str, str]
    status: Status
    reason: str = ""
    seconds: float | None = None
    cost: Cost | None = None


class Speed(Part, frozen=True):
    """`amount` bytes or FLOP in each of some timed runs, in seconds."""

    amount: float
    runs: list[float]

    @property
    def per_second(self) -> float:
        """The median over the runs, of which there is an odd number."""
        return self.amount / sorted(self.runs)[len(self.runs) // 2]


class MeasuredStep(Part, frozen=True):
    """A step compiled for the CPU of this machine and run there, `calls` times in each timed run.

    `product` and `triad`: how fast the same process multiplied matrices and moved memory.
    """

    step: Step
    cost: Cost
    calls: int
    runs: list[float]
    product: Speed
    triad: Speed
