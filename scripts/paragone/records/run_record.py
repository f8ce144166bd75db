"""The record of a run as typed objects, and the way from JSON to them and back.

Fields, their units and what a null means are described in rules/schemas/record.schema.json. The order of the
fields is the order of the keys in the file. JSON is validated against the schema before it gets types.
"""

from collections import Counter
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import Any, TypeVar, get_args, get_type_hints

from paragone.base import digests
from paragone.base.engine_reports import Devices, Modes, Programs
from paragone.config.run_spec import Spec

Json = dict[str, Any]
Part = TypeVar("Part")


@dataclass
class Schedule:
    """Place of the run, from 1 on, in the drawn order of all runs of the workflow."""

    place: int
    of: int


@dataclass
class DataRead:
    """The data set that was read: which edition, how many examples, the shape of one input.

    `train_majority`, `test_majority`: the share of the most frequent class, which a model that learned
    nothing can reach.
    """

    dataset: str
    source: str
    edition: str
    manifest_sha256: str
    train_examples: int
    test_examples: int
    train_majority: float
    test_majority: float
    input_shape: list[int]


@dataclass
class Model:
    """The model that was trained, and the SHA-256 of its canonical weights before and after."""

    parameters: int
    initializer: str
    initial_weights: str
    final_weights: str | None


@dataclass
class Machine:
    """What distinguishes a machine from others; `fingerprint` is the hash of all the rest."""

    fingerprint: str
    host: str
    system: str
    processor: str
    cores: int
    memory_gib: int
    accelerators: list[str]
    driver: str | None

    def named_accelerators(self) -> list[str]:
        """Equal ones once, with their number: "8 x NVIDIA H100 80GB HBM3"."""
        counts = Counter(self.accelerators).items()
        return [name if count == 1 else f"{count} x {name}" for name, count in counts]

    def expected_fingerprint(self) -> str:
        """The hash that the other fields have."""
        return digests.sha256_of(
            {key: value for key, value in vars(self).items() if key != "fingerprint"}
        )


@dataclass
class GitState:
    """The commit that was checked out, and whether tracked files differed from it."""

    commit: str
    dirty: bool


@dataclass
class Activity:
    """What a host did for some time: seconds, events, joules, and of each accelerator its mean
    clock and the shares of time in which power or heat held it down; None where the system does not say."""

    seconds: float
    run: float
    busy: float
    idle: float
    stolen: float
    cpu_waiting: float | None
    io_waiting: float | None
    quota_throttled: float | None
    heat_throttles: int | None
    cpu_joules: float | None
    accelerator_joules: float | None
    accelerator_mhz: list[float] | None
    accelerator_power_capped: list[float] | None
    accelerator_slowed: list[float] | None


@dataclass
class Load:
    """The load before, clock and limits after the work; `life`: of one process per host, else None."""

    before: float
    cpu_mhz: float | None
    accelerator_power_limits: list[float] | None
    life: Activity | None


@dataclass
class Memory:
    """Peaks of one process, in bytes."""

    peak_host_bytes: int | None
    peak_device_bytes: int | None


@dataclass
class Process:
    """One process that worked on the run: a rank of one start."""

    rank: int
    started: str
    ended: str | None
    age: float | None
    first_epoch: int
    machine: Machine
    cores: int
    devices: list[str]
    threads: int
    variables: dict[str, str]
    software: dict[str, str]
    git: GitState | None
    load: Load
    config_sha256: str
    manifest_sha256: str
    system_threads: int | None
    memory: Memory
    modes: Modes | None
    programs: Programs | None
    epochs: list[Activity]
    window: list[Activity]


@dataclass
class ColdClocks:
    """Seconds from process start to the first trained step."""

    imports: float
    devices: float
    data: float
    compilation: float


@dataclass
class Clocks:
    """Seconds of the parts of a run that its epochs do not hold."""

    cold: ColdClocks
    checkpoint: float
    window: float
    other: float


@dataclass
class Timed:
    """Training steps, and the seconds that they took together."""

    steps: int
    seconds: float


@dataclass
class Efficiency:
    """FLOP of training on one example."""

    train_flop_per_example: int
    counter: str


@dataclass
class Epoch:
    """One epoch: losses in nats, accuracies as fractions, times in seconds."""

    epoch: int
    learning_rate: float
    steps: int
    train_seconds: float
    input_seconds: float | None
    train_loss: float | None
    train_accuracy: float
    evaluate_seconds: float
    test_loss: float | None
    test_accuracy: float


@dataclass
class FirstSteps:
    """The run's own first steps beside those of the parity gate's reference; empty if there was none.

    Of each group the largest deviation, None where it is not finite, and what is allowed. `reason`: what is
    wrong, with the array that deviates most.
    """

    reason: str | None
    deviations: dict[str, float | None]
    allowed: dict[str, float]

    def __post_init__(self) -> None:
        """Raise `ValueError` where nothing says what is allowed."""
        if lacking := self.deviations.keys() - self.allowed.keys():
            raise ValueError(f"first_steps: nothing is allowed for {min(lacking)!r}")

    @property
    def passed(self) -> bool | None:
        """The verdict; None without a reference."""
        if not self.deviations:
            return None
        return all(
            found is not None and found <= self.allowed[group]
            for group, found in self.deviations.items()
        )


@dataclass
class RunRecord:
    """The result of one run: what was measured. What follows from it is in `run_metrics`."""

    schema: int
    run: str
    status: str
    reason: str | None
    spec: Spec
    schedule: Schedule | None
    data: DataRead | None
    model: Model | None
    devices: Devices | None
    first_steps: FirstSteps | None
    processes: list[Process]
    clocks: Clocks | None
    efficiency: Efficiency | None
    epochs: list[Epoch]
    window: list[Timed]
    digest: str | None = None

    @classmethod
    def from_json(cls, data: Json) -> "RunRecord":
        """The record in JSON data that is valid against the schema.

        Raises `ValueError` if its `spec` is not the specification of a run.
        """
        return from_json(cls, data)

    def to_json(self) -> Json:
        """The record as JSON data, keys in the order of the fields."""
        return asdict(self)

    def sealed(self) -> "RunRecord":
        """A copy with the digest that its other fields have."""
        return replace(self, digest=self.expected_digest())

    def expected_digest(self) -> str:
        """SHA-256 of the canonical JSON of all fields but the digest."""
        data = self.to_json()
        del data["digest"]
        return digests.sha256_of(data)


def from_json(kind: type[Part], data: Json) -> Part:
    """The dataclass `kind` made of a JSON object with a key per field; `ValueError` for other keys."""
    types = get_type_hints(kind)
    try:
        return kind(**{key: _typed(types.get(key), value) for key, value in data.items()})
    except TypeError as error:
        raise ValueError(f"{kind.__name__}: {error}") from error


def _typed(kind: Any, value: Any) -> Any:
    """A JSON value as the dataclass that `kind` is, has a list of, or has beside None; or as it is."""
    part: Any = next(filter(is_dataclass, [kind, *get_args(kind)]), None)
    if part is None or value is None:
        return value
    if isinstance(value, list):
        return [from_json(part, one) for one in value]
    return from_json(part, value)
