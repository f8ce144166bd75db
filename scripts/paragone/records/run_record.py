"""The record of a run: the types of its parts, in the order of their keys in the file.

Times are in seconds, losses in the task's unit, accuracies are fractions. What follows from a record (sums,
throughput, time to target) is computed in `run_metrics`; rules beyond types are in `compliance`.
To add a field, add it to its type here and measure it where the type is built.
"""

from collections import Counter
from itertools import product
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from paragone.base.engine_reports import Modes, Programs
from paragone.base.typed_json import Count, Part, Whole
from paragone.config.run_spec import Initializer, Spec

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Time = Annotated[
    str, Meta(pattern=r"^\d{4}-(0\d|1[0-2])-[0-3]\dT[0-2]\d:[0-5]\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")
]
Number = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
# crashed: a signal such as SIGSEGV ended the only worker. unavailable: the devices or the framework are not
# there. unsupported: the framework has no kernel for an operation as the run asks for it. failed: a worker of
# a contest ended without a result, was killed from outside, or did not answer in time. refused: the backend
# failed the parity gate, so nothing was started.
_ENDS = "completed|diverged|out_of_memory|crashed|unavailable|unsupported|failed|refused"
Status = Annotated[str, Meta(pattern=f"^({_ENDS})$")]


class DataRead(Part, frozen=True, kw_only=True):
    """The data set that was read.

    `train_examples`: those that the run draws from; `validation_examples`: those that are held out of them,
    where the workload has `validation`, as all fields of this split. What a model that learned nothing can
    reach: `train_majority`, `test_majority`, the share of the most frequent class, or the micro F1 of always
    naming the same ones; `train_guessing_loss`, `test_guessing_loss`, the least loss with the same outputs
    for all examples, which old records have where it is not the entropy of the classes; of targets that are
    numbers `train_variance`, `test_variance`, the mean squared error of their mean. `input_shape`: of one
    example, height, width and channels, or words. `test_labels`: a digest of the labels that an evaluation
    has, of each epoch where it draws them. `positions`: labels of an example, in earlier records.
    """

    dataset: str
    source: Annotated[str, Meta(pattern="^(real|synthetic)$")]
    edition: str
    manifest_sha256: Sha256
    train_examples: Count
    test_examples: Count
    validation_examples: Count | UnsetType = UNSET
    train_majority: Annotated[float, Meta(gt=0, le=1)] | UnsetType = UNSET
    validation_majority: Fraction | UnsetType = UNSET
    test_majority: Annotated[float, Meta(gt=0, le=1)] | UnsetType = UNSET
    train_guessing_loss: Number | UnsetType = UNSET
    validation_guessing_loss: Number | UnsetType = UNSET
    test_guessing_loss: Number | UnsetType = UNSET
    train_variance: Positive | UnsetType = UNSET
    validation_variance: Number | UnsetType = UNSET
    test_variance: Positive | UnsetType = UNSET
    input_shape: Annotated[list[Count], Meta(min_length=1)]
    positions: Count | UnsetType = UNSET
    validation_labels: Annotated[list[Whole], Meta(min_length=1)] | UnsetType = UNSET
    test_labels: Annotated[list[Whole], Meta(min_length=1)] | UnsetType = UNSET


class TrainedModel(Part, frozen=True):
    """The trainable parameters, and the SHA-256 of the canonical weights before and after training.

    `initializer`: the one that was used, keras where the ImageNet weights that the workload asks for were
    not available. `final_weights`: None when no epoch was completed. `update`: the framework's own optimizer
    that defines the update, with all its arguments, and `rates`: its own schedule; absent where a rule of the
    project does.
    """

    parameters: Count
    initializer: Initializer
    initial_weights: Sha256
    final_weights: Sha256 | None
    update: str | UnsetType = UNSET
    rates: str | UnsetType = UNSET


class Machine(Part, frozen=True):
    """What distinguishes a machine from others; `fingerprint` is the hash of the other fields.

    `cores`: all of the machine's. `memory_gib`: rounded, because the kernel's share differs from boot to
    boot. `accelerators`, `driver`: as NVML names them.
    """

    fingerprint: Sha256
    host: str
    system: str
    processor: str
    cores: Count
    memory_gib: Whole
    accelerators: list[str]
    driver: str | None

    def named_accelerators(self) -> list[str]:
        """Return the accelerators, equal ones once with their number: "8 x NVIDIA H100 80GB HBM3"."""
        counts = Counter(self.accelerators).items()
        return [name if count == 1 else f"{count} x {name}" for name, count in counts]


class GitState(Part, frozen=True):
    """The commit that was checked out, and whether tracked files differed from it."""

    commit: Annotated[str, Meta(pattern="^[0-9a-f]{40,64}$")]
    dirty: bool


class Activity(Part, frozen=True):
    """What a host did for some time; None where the system does not report it.

    `seconds`: by the kernel's clock since boot. `run`, `busy`, `idle`, `stolen`: CPU seconds of the run's
    processes, of all processes, of none, and those that a hypervisor gave to other machines; in a contest
    those of the cores that the variants use.
    `quota_throttled`: seconds for which CPU quotas held the process back. `heat_throttles`: how often heat
    slowed cores or packages down. `accelerator_joules`: energy of all accelerators, by NVML.
    """

    seconds: Number
    run: Number
    busy: Number
    idle: Number
    stolen: Number
    quota_throttled: Number | None = None
    heat_throttles: Whole | None = None
    accelerator_joules: Number | None = None


class MeasuringProcess(Part, frozen=True, kw_only=True):
    """A process that measures, and its machine.

    `cores`: number that it may use. `threads`: intra-operation threads of the framework. `software`: versions
    of packages. `removed_variables`: variables of the shell that would have changed what a framework does, so
    that it was started without them. `git`: state of the code that ran, None outside a repository.
    `load_before`: one-minute load average at its start. `life`: what the host did from the meeting of the
    workers to the end of the work; None for all but the first process of a host, and where it was killed.
    """

    started: Time
    machine: Machine
    cores: Count
    threads: Count
    software: dict[str, str]
    removed_variables: list[str] | UnsetType = UNSET  # absent where there are none
    git: GitState | None
    load_before: float
    life: Activity | None = None


class Process(MeasuringProcess, frozen=True, kw_only=True):
    """One process that worked on the run: a rank of one start.

    `ended`, `age`: when its part of the record was complete, and seconds since its start by the kernel's
    clock since boot; a process that was killed has those of its last checkpoint. `first_epoch`: 1, or the
    epoch after the checkpoint that it resumed from. `devices`: as the framework names them. `variables`:
    tuning variables in its environment. `manifest_sha256`: digest of the data manifest that it read.
    `peak_host_bytes`, `peak_device_bytes`: most of its memory, and most of one accelerator's that the
    framework had allocated in the epochs; None where it is not reported or was killed. With JAX and
    PyTorch/XLA, whose counter cannot be reset, the warm-up's copy of the state is included. `epochs`: what
    its host did in the training of each epoch; empty for all but the first process of a host.
    """

    rank: Whole
    ended: Time | None = None
    age: Number | None = None
    first_epoch: Count = 1
    devices: list[str] = field(default_factory=list)
    variables: dict[str, str]
    manifest_sha256: Sha256
    peak_host_bytes: Count | None = None
    peak_device_bytes: Whole | None = None
    modes: Modes | None = None
    programs: Programs | None = None
    epochs: list[Activity] = field(default_factory=list)


class Clocks(Part, frozen=True):
    """Seconds of the parts of a run that its epochs do not hold, by the clocks of its processes.

    The first four are cold, before the first trained step. `first_steps`: those of the parity gate, which
    only measuring needs. `other` includes an epoch that was not finished.
    """

    imports: Number
    devices: Number
    data: Number
    compilation: Number
    checkpoint: Number
    first_steps: Number
    other: Number


# Every second of a run is charged to one of these parts: cold ones, epochs, the rest.
CLOCK_PARTS = (
    *("imports", "devices", "data", "compilation"),
    *("train", "evaluate"),
    *("checkpoint", "first_steps", "other"),
)


class Epoch(Part, frozen=True, kw_only=True):
    """One epoch.

    Losses and the scores of the task, accuracies, micro F1 or a mean absolute error, are means over examples;
    None where they are not finite. `learning_rate`: at the first step. `steps`: those of the protocol.
    `updates`, `batches`: as in a window of a contest. `order`: a digest of the labels that were drawn, see
    `training.counts`. `train_examples`, `test_examples`: how many the metrics weigh, over all workers,
    reduced with them. `test_labels`: a digest of the labels that were evaluated. Earlier records have none
    of these six; a restart of several workers knows no digests of the epochs before it. Of validation there
    is what there is of the test split, where the workload holds examples out.
    """

    epoch: Count
    learning_rate: Number
    steps: Count
    train_seconds: Number
    train_loss: float | None
    train_accuracy: Fraction | UnsetType = UNSET
    train_top5_accuracy: Fraction | UnsetType = UNSET
    train_f1: Fraction | UnsetType = UNSET
    train_mae: Number | UnsetType | None = UNSET
    evaluate_seconds: Number
    validation_loss: float | UnsetType | None = UNSET
    validation_accuracy: Fraction | UnsetType = UNSET
    validation_top5_accuracy: Fraction | UnsetType = UNSET
    validation_f1: Fraction | UnsetType = UNSET
    validation_mae: Number | UnsetType | None = UNSET
    test_loss: float | None
    test_accuracy: Fraction | UnsetType = UNSET
    test_top5_accuracy: Fraction | UnsetType = UNSET
    test_f1: Fraction | UnsetType = UNSET
    test_mae: Number | UnsetType | None = UNSET
    updates: Whole | UnsetType = UNSET
    batches: Whole | UnsetType = UNSET
    order: Whole | UnsetType = UNSET
    train_examples: Number | UnsetType = UNSET
    validation_examples: Number | UnsetType = UNSET
    test_examples: Number | UnsetType = UNSET
    validation_labels: Whole | UnsetType = UNSET
    test_labels: Whole | UnsetType = UNSET


class FirstSteps(Part, frozen=True):
    """The run's first steps compared with the parity gate's reference; empty if there was none.

    Each group has its largest relative deviation, None where it is not finite, and what is allowed.
    `reason`: what is wrong, with the array that deviates most, or why there is no reference. `masked`:
    whether that is the dropout of the model.
    """

    reason: str | None
    deviations: dict[str, Number | None]
    allowed: dict[str, Positive]
    masked: bool | UnsetType = UNSET

    @property
    def passed(self) -> bool | None:
        """Return the verdict; None without a reference."""
        if not self.deviations:
            return None
        return all(
            deviation is not None and deviation <= self.allowed.get(group, 0.0)
            for group, deviation in self.deviations.items()
        )


class RunRecord(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The result of one run.

    `reason`: one sentence when the run is not completed. `first_steps`: None where dropout draws differ or
    the run did not get so far. `processes`: in the order of time, one per rank and start. `digest`: SHA-256
    of all other fields.
    """

    schema: Literal[2] = 2
    run: Annotated[str, Meta(pattern="^[a-z0-9.-]+$")]
    status: Status = "completed"
    reason: str | None = None
    spec: Spec
    data: DataRead | None = None
    model: TrainedModel | None = None
    first_steps: FirstSteps | None = None
    processes: Annotated[list[Process], Meta(min_length=1)]
    clocks: Clocks | None = None
    epochs: list[Epoch] = field(default_factory=list)
    digest: Sha256 | None = None

    def __post_init__(self) -> None:
        """Raise `ValueError` for epochs that are not numbered from 1 on or lack a score of the task, for
        data of another set than the workload's, and for processes that have not read the same."""
        scores, dataset = self.spec.workload.task.scores, self.spec.workload.dataset
        for at, epoch in enumerate(self.epochs):
            if epoch.epoch != at + 1:
                raise ValueError(f"epochs[{at}]: is epoch {epoch.epoch}")
            for split, score in product(("train", *self.spec.workload.evaluated), scores):
                if getattr(epoch, f"{split}_{score}") is UNSET:
                    raise ValueError(f"epochs[{at}]: has no {split}_{score}")
        if self.data and self.data.dataset != dataset:
            raise ValueError(f"data.dataset: {self.data.dataset}, the workload's is {dataset}")
        if len({rank.manifest_sha256 for rank in self.processes}) > 1:
            raise ValueError("processes: have not read the same data")
