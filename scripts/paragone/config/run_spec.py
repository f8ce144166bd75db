"""The specification of a run: everything that decides its result, and its identity.

The Snakefile imports this module at parse time, and every training process: no framework, no NumPy.
"""

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from paragone.base.engine_reports import Devices
from paragone.base.errors import UserError
from paragone.base.typed_json import (
    ABSENT,
    Block,
    Count,
    Fraction,
    Number,
    Positive,
    Whole,
    of_option,
)
from paragone.config.schedules import LearningRate
from paragone.tasks import CLASSIFICATION, METRICS, Task

EVALUATION_BATCH = 256
# Feeds: each batch is copied; rows of inputs that are on the device.
BATCHES, RESIDENT = "batches", "resident"
AS_INSTALLED, TUNED = "as-installed", "tuned"
DeviceKind = Literal["cpu", "gpu", "tpu"]
Feed = Literal["batches", "pinned", "resident"]
Initializer = Literal["pytorch", "keras", "xavier", "gpt-2", "imagenet"]
Loss = Literal["cross_entropy", "double_softmax"]
Operands = Literal["float32", "bfloat16", "float16", "float64"]  # of matrix products
Shuffle = Literal["each_epoch", "once", "with_replacement"]
PartialBatch = Literal["drop", "keep"]
Options = dict[str, Any]  # those of a plugin's model or optimizer may be of any JSON type


class Input(Block, frozen=True):
    """An input is x = (stored / divide - mean) / std; absent for word indices

    divide: divisor of the stored pixel, 0 to 255
    mean: mean of the divided pixels, or of each channel's, as a list
    std: standard deviation of the divided pixels, or of each channel's, as a list
    """

    divide: Positive
    mean: Number | tuple[Number, ...]
    std: Positive | tuple[Positive, ...]


class Augmentation(Block, frozen=True):
    """Random changes of training images; none if absent

    shift: largest shift in each direction, as a fraction of a side
    flip: exchange left and right with probability 1/2
    """

    shift: Fraction
    flip: bool


class Target(Block, frozen=True, kw_only=True):
    """Quality target, one metric of the task; none if absent

    accuracy: test accuracy, as a fraction, or more
    f1: micro F1 of the test split, or more
    r2: R² of the test split, or more
    mae: mean absolute error of the test split, or less
    perplexity: test perplexity, or less
    loss: test loss, or less
    patience: consecutive evaluations that reach it
    stop: end the run when it is reached
    """

    accuracy: Annotated[int, Meta(gt=0, le=1)] | Annotated[float, Meta(gt=0, le=1)] = ABSENT
    f1: Annotated[int, Meta(gt=0, le=1)] | Annotated[float, Meta(gt=0, le=1)] = ABSENT
    r2: Annotated[int, Meta(lt=1)] | Annotated[float, Meta(lt=1)] = ABSENT
    mae: Positive = ABSENT
    perplexity: Annotated[int, Meta(gt=1)] | Annotated[float, Meta(gt=1)] = ABSENT
    loss: Positive = ABSENT
    patience: Count
    stop: bool

    def __post_init__(self) -> None:
        """Raise `ValueError` unless it names one metric."""
        if len(metrics := [name for name in METRICS if getattr(self, name) is not None]) != 1:
            raise ValueError(
                f"target: names {' and '.join(metrics) or 'no metric'}; name one of {', '.join(METRICS)}"
            )

    @property
    def metric(self) -> str:
        """The key of the metric in `METRICS`."""
        return next(name for name in METRICS if getattr(self, name) is not None)

    @property
    def value(self) -> float:
        """The value to reach."""
        return float(getattr(self, self.metric))

    def reached_by(self, value: float | None) -> bool:
        """Return whether the value of an evaluation reaches the target."""
        return METRICS[self.metric].reaches(value, self.value)


class Evaluation(Block, frozen=True):
    """The test examples of each evaluation; all if absent

    first: the first so many
    random_batches: so many of the global batch, drawn anew for each evaluation, with replacement
    """

    first: Count = ABSENT
    random_batches: Count = ABSENT

    def __post_init__(self) -> None:
        """Raise `ValueError` unless it says one thing."""
        if bool(self.first) == bool(self.random_batches):
            raise ValueError("has first and random_batches, or neither; write one of them")


class Workload(Block, frozen=True, kw_only=True):
    """What is learned, and how: a block `workloads` of the config, validated, with its name.

    `loss`: of classification.

    Batch size, schedule length and precision are fields of `Spec`. `model` and `optimizer`: the name, and
    options by name, which a plugin may have any. `input`: None for indices of words. `train_examples`: None
    for the whole split. `shuffle_buffer`: None for all examples. `partial_batch`: the last one of an epoch.
    `evaluation`: None for all test examples.
    """

    name: str
    dataset: str
    model: Options
    initializer: Initializer
    optimizer: Options
    learning_rate: LearningRate
    input: Input | None = None
    train_examples: Count | None = None
    task: Task = CLASSIFICATION
    loss: Loss = "cross_entropy"
    shuffle: Shuffle = "each_epoch"
    shuffle_buffer: Count | None = None
    partial_batch: PartialBatch = "drop"
    augmentation: Augmentation | None = None
    evaluation: Evaluation | None = None
    target: Target | None = None

    def __post_init__(self) -> None:
        """Raise `ValueError` for a model or an optimizer without a name, and a metric that the task lacks."""
        for key in ("model", "optimizer"):
            if not isinstance(getattr(self, key).get("name"), str):
                raise ValueError(f"workload.{key}.name: is missing, or no text")
        # The default is left out of a specification if it is this object.
        if self.task == CLASSIFICATION:
            msgspec.structs.force_setattr(self, "task", CLASSIFICATION)
        if self.loss != "cross_entropy" and not self.task.plain:
            raise ValueError(
                f"loss: {self.loss} has no class weights and no smoothed or ignored labels; leave one out"
            )
        metrics = self.task.kind.metrics
        if self.target and self.target.metric not in metrics:
            raise ValueError(
                f"target.{self.target.metric}: {self.task.name} has {', '.join(metrics)}; name one of them"
            )

    @property
    def model_name(self) -> str:
        """The key of the model's function in `MODELS` of a framework."""
        return str(self.model["name"])

    @property
    def model_options(self) -> Options:
        """The arguments of the model's function."""
        return {key: value for key, value in self.model.items() if key != "name"}

    def with_model(self, **options: Any) -> "Workload":
        """Return a copy of the workload with these options of its model."""
        return replace(self, model=self.model | options)

    @property
    def dropout(self) -> float:
        """The share of values that the model drops in training."""
        return float(self.model.get("dropout", 0))

    @property
    def optimizer_name(self) -> str:
        """The key of the optimizer's function in `OPTIMIZERS` of a framework."""
        return str(self.optimizer["name"])

    @property
    def deduplicates(self) -> bool:
        """Whether the gradients of a word that a batch repeats are added before they are squared."""
        return bool(self.optimizer.get("deduplicate", True))

    @property
    def accumulated(self) -> int:
        """The number of batches whose mean gradient makes one update."""
        return int(self.optimizer.get("accumulate", 1))

    @property
    def updates_seen_words(self) -> bool:
        """Return whether a step updates only those rows of an embedding whose words are in the batch."""
        return self.optimizer.get("rule") == "keras-2"


class Backend(Block, frozen=True):
    """How it is trained: a block `backends` of the config with its name, as far as it decides a result."""

    name: str
    engine: str
    strategy: str
    device: DeviceKind
    feed: Feed = "batches"

    @classmethod
    def of(cls, name: str, block: Options) -> "Backend":
        """The backend of a validated block of the config, which has keys for figures and rules, too."""
        keys = ("engine", "strategy", "device", "feed")
        return msgspec.convert(
            {"name": name} | {key: block[key] for key in keys if key in block}, cls
        )

    def gpus(self, replicas: int = 1) -> int | None:
        """The number of GPUs that so many replicas take; None, which Snakemake leaves out, on others."""
        return replicas if self.device == "gpu" else None


class Tuned(Block, frozen=True):
    """What the tuning `tuned` changes, with the same training semantics; see docs/method.md

    variables: environment variables that a worker is started with
    options: options of the engine, see tuned in scripts/paragone/config/engines.py
    """

    variables: dict[str, str] = msgspec.field(default_factory=dict)
    options: dict[str, bool | int] = msgspec.field(default_factory=dict)


class Spec(Block, frozen=True, dict=True):
    """One cell of an experiment's matrix at one repeat.

    `workers`: processes, each with as many of the replicas. `global_batch`, `per_replica_batch`: examples of
    a step over all replicas and of each. `steps_per_epoch`: None for all batches of the training split.
    `precision`: of weights and arithmetic, "float32" or "float64"; or "bfloat16", of the layers' arithmetic,
    with all else in float32 (mixed precision). `least_evaluation_batch`: fewer in the parity gate.
    """

    workload: Workload
    backend: Backend
    replicas: Count
    workers: Count
    global_batch: Count
    per_replica_batch: Count
    epochs: Count
    steps_per_epoch: Count | None
    precision: str
    seed: Whole
    deterministic: bool
    tuning: Tuned
    least_evaluation_batch: Count = EVALUATION_BATCH

    @classmethod
    def from_json(cls, text: str) -> "Spec":
        """Read what `to_json` wrote; `UserError` if it is something else."""
        return of_option(cls, text, "--spec: not the specification of a run")

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON of the whole specification: the run's identity."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def name(self) -> str:
        """A file name that a person can read, made unique by the hash of the whole specification."""
        return (
            f"{self.workload.name}.{self.backend.name}.r{self.replicas}"
            f".b{self.global_batch}.s{self.seed}.{self.sha256[:8]}"
        )

    @property
    def gpus(self) -> int | None:
        """The number of GPUs that it takes; None, which Snakemake leaves out, on others."""
        return self.backend.gpus(self.replicas)

    @property
    def tasks(self) -> int | None:
        """The number of workers if there are several, else None, which Snakemake leaves out."""
        return self.workers if self.workers > 1 else None

    def steps(self, examples: int) -> int:
        """Steps of one epoch over `examples` training examples.

        Raises `UserError` if there are too few, also for one update of a run that accumulates gradients, or
        if a partial batch does not divide over the replicas.
        """
        steps = self.planned_steps(examples)
        whole = examples // self.global_batch
        there = replace(self, steps_per_epoch=None).planned_steps(examples)
        if not (whole and 0 < steps <= there):
            raise UserError(
                f"workloads.{self.workload.name}: {steps or 'a'} step(s) of "
                f"{self.global_batch} examples do not fit into {examples} training examples; "
                "lower the batch size or steps_per_epoch"
            )
        if steps > whole and (partial := examples % self.global_batch) % self.replicas:
            raise UserError(
                f"workloads.{self.workload.name}.partial_batch: the last batch, of {partial} examples, does "
                f"not divide over {self.replicas} replicas; drop it, or choose another train_examples"
            )
        if (batches := steps * self.epochs) < self.workload.accumulated:
            raise UserError(
                f"workloads.{self.workload.name}.optimizer.accumulate: an update takes "
                f"{self.workload.accumulated} batches, and {self.epochs} epoch(s) have {batches}; "
                "train for longer"
            )
        return steps

    def planned_steps(self, examples: int) -> int:
        """Steps of one epoch over `examples` training examples, whether they fit or not."""
        whole, partial = divmod(examples, self.global_batch)
        kept = bool(partial) and self.workload.partial_batch == "keep"
        return self.steps_per_epoch or whole + kept

    def examples_of(self, steps: int) -> int:
        """Return how many examples that many steps of whole batches have, over all replicas."""
        return steps * self.global_batch

    def with_batch(self, size: int) -> "Spec":
        """Return a copy that trains and evaluates on global batches of `size` examples."""
        share = size // self.replicas
        return replace(
            self, global_batch=size, per_replica_batch=share, least_evaluation_batch=size
        )

    def epoch_examples(self, examples: int) -> int:
        """Examples that an epoch trains on, of `examples` training examples: a partial batch has fewer."""
        return min(self.examples_of(self.planned_steps(examples)), examples)

    def tested_examples(self, examples: int) -> int:
        """Examples of one evaluation, of `examples` test examples."""
        evaluation = self.workload.evaluation
        if evaluation and evaluation.random_batches:
            return self.examples_of(evaluation.random_batches)
        return min(evaluation.first, examples) if evaluation else examples

    @property
    def tuning_name(self) -> str:
        """`as-installed`, what a user gets from the packages, or `tuned`."""
        return AS_INSTALLED if self.tuning == Tuned() else TUNED

    def tuned(self, option: str) -> bool | int | None:
        """The value of one of the options that the engine declares; None as installed."""
        return self.tuning.options.get(option)

    @property
    def mixed(self) -> bool:
        """Whether layers compute in another precision than weights, statistics, loss and optimizer."""
        return self.precision == "bfloat16"

    @property
    def weights_precision(self) -> str:
        """Of weights, statistics, loss and optimizer."""
        return "float32" if self.mixed else self.precision

    @property
    def evaluation_batch(self) -> int:
        """Examples of one evaluation step over all replicas: the global batch, or about 256 if more.

        The training batch is what an experiment varies; small evaluation batches would only take longer.
        """
        return max(self.global_batch, self.least_evaluation_batch // self.replicas * self.replicas)

    def learning_rates(self, epoch: int, steps: int) -> list[float]:
        """The learning rate of each step of an epoch (from 1) of so many steps, in a run of such epochs.

        base x global batch / per_batch (linear scaling; Goyal et al., arXiv:1706.02677) if `per_batch`
        is given, times the factor of the schedule.
        """
        schedule = self.workload.learning_rate
        scale = self.global_batch / schedule.per_batch if schedule.per_batch else 1
        factors = schedule.factors(epoch, self.epochs, steps)
        return [schedule.base * scale * factor for factor in factors]


def requested(spec: Spec) -> Devices:
    """The devices that a run asks for."""
    return Devices(spec.backend.device, spec.replicas, spec.workers)


def as_list(value: Any) -> list[Any]:
    """A list as it is, anything else as a list of one."""
    return value if isinstance(value, list) else [value]
