"""The specification of a run: everything that decides its result, and its identity."""

import hashlib
import math
import re
from collections.abc import Mapping
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
from paragone.config.schedules import LearningRate, defining
from paragone.tasks import CLASSIFICATION, METRICS, Task

EVALUATION_BATCH = 256
# Feeds: each batch is copied; rows of inputs that are on the device.
BATCHES, RESIDENT = "batches", "resident"
AS_INSTALLED, TUNED = "as-installed", "tuned"
DeviceKind = Literal["cpu", "gpu", "tpu"]
Feed = Literal["batches", "pinned", "resident"]
Initializer = Literal["pytorch", "keras", "xavier", "gpt-2", "imagenet", "model"]
# The initializer of a model's own values, which one framework draws.
MODEL: Literal["model"] = "model"
Loss = Literal["cross_entropy", "double_softmax"]
Operands = Literal["float32", "bfloat16", "float16", "float64"]  # of matrix products
Shuffle = Literal["each_epoch", "once", "with_replacement"]
PartialBatch = Literal["drop", "keep"]
Options = dict[str, Any]  # those of a model, or of a framework's own, may be of any JSON type


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
    top5_accuracy: test top-5 accuracy, as a fraction, or more
    f1: micro F1 of the test split, or more
    r2: R² of the test split, or more
    mae: mean absolute error of the test split, or less
    perplexity: test perplexity, or less
    loss: test loss, or less
    patience: consecutive evaluations that reach it
    stop: end the run when it is reached
    """

    accuracy: Annotated[int, Meta(gt=0, le=1)] | Annotated[float, Meta(gt=0, le=1)] = ABSENT
    top5_accuracy: Annotated[int, Meta(gt=0, le=1)] | Annotated[float, Meta(gt=0, le=1)] = ABSENT
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
        """Return whether the value of an evaluation, None where it is not finite, reaches the target."""
        if value is None:
            return False
        more = METRICS[self.metric].more_is_better
        return value >= self.value if more else value <= self.value


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


HeldOut = Annotated[int, Meta(ge=1)] | Annotated[float, Meta(gt=0, lt=1)]


class Validation(Block, frozen=True):
    """Training examples that are held out, and evaluated as the test split is; none if absent

    last: the last ones: a share, as `validation_split` of Keras, or a count
    first: the first ones, a share or a count
    random: some that the run's seed draws, a share or a count
    """

    last: HeldOut = ABSENT
    first: HeldOut = ABSENT
    random: HeldOut = ABSENT

    def __post_init__(self) -> None:
        """Raise `ValueError` unless it says one thing."""
        if sum(map(bool, (self.last, self.first, self.random))) != 1:
            raise ValueError("has several of last, first and random, or none; write one of them")

    def examples(self, there: int) -> int:
        """Examples that are held out, of so many. With a share Keras rounds down those that are left."""
        asked = self.last or self.first or self.random
        return asked if isinstance(asked, int) else there - math.floor(there * (1 - asked))


class Start(Block, frozen=True):
    """Initial weights in a file, by names of the model's framework; of `initializer: model`

    file: of safetensors, PyTorch (a state dict, .pt, .pth, .bin or .ckpt), Keras (.weights.h5) or
        flax (.msgpack), relative to the working directory; what it lacks is the model's own
    sha256: of its content; computed if absent
    """

    file: Annotated[str, Meta(min_length=1)]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] = ABSENT


class WorkloadKeys(Block, frozen=True, kw_only=True):
    """What is learned, and how; the same for every framework

    dataset: one of datasets, or tfds/<builder>
    model: `name`, of a model of a paper, of scripts/paragone/models/ or of a plugin; `pairs`,
        {name of a layer in another framework: its name in PyTorch}, where order does not pair them; all
        other keys are options of the model's function
    train_examples: train on the first so many examples, those of `validation` included; all if
        absent
    initializer: rule by which initial weights are drawn; xavier: kernels as keras, the rest as
        pytorch; gpt-2: small normal values, smaller where blocks add to their input; imagenet:
        the file of data.pretrained, or keras where it cannot be found; model: the model's own
        values under the run's seed, and any layer; of one framework, where it is the default
    loss: of classification; double_softmax: probabilities given to a loss that expects logits,
        as one source has it
    shuffle: once: every epoch has the order of the first; with_replacement: each batch is drawn
        from all examples, and steps_per_epoch says after how many steps there is an evaluation
    shuffle_buffer: each next example is drawn from a buffer of so many, which the following one
        refills, as tf.data does; from all examples if absent
    partial_batch: whether the examples that are left after the last whole batch are a batch,
        too
    optimizer: `name`, of an update rule: sgd, adam, adamw, nadam, rmsprop or adagrad, by one rule
        in every framework, see docs/protocols.md; or one framework's own, as
        torch.optim.Adadelta, keras.optimizers.Lion or optax.lamb, with its own arguments
    """

    dataset: Annotated[str, Meta(pattern="^(tfds/)?[a-z][a-z0-9_]*$")]
    model: Options
    train_examples: Count = ABSENT
    initializer: Initializer = ABSENT
    start: Start = ABSENT
    task: Task = CLASSIFICATION
    loss: Loss = "cross_entropy"
    shuffle: Shuffle = "each_epoch"
    shuffle_buffer: Count = ABSENT
    partial_batch: PartialBatch = "drop"
    augmentation: Augmentation = ABSENT
    evaluation: Evaluation = ABSENT
    validation: Validation = ABSENT
    input: Input = ABSENT
    optimizer: Options
    learning_rate: LearningRate
    target: Target = ABSENT

    def __post_init__(self) -> None:
        """Raise `ValueError` for a model or an optimizer without a name, and for what the task has not."""
        for key in ("model", "optimizer"):
            if not isinstance(getattr(self, key).get("name"), str):
                raise ValueError(f"has a {key} whose name is missing, or no text; add it")
        if self.learning_rate.base is ABSENT and not self.learning_rate.absolute:
            raise ValueError("has no learning_rate.base, nor `defaults` that have one; add it")
        pairs = self.model.get("pairs", {})
        if not (isinstance(pairs, dict) and all(isinstance(name, str) for name in pairs.values())):
            raise ValueError("has model.pairs which are no names by name; write {theirs: ours}")
        # The default is left out of a specification if it is this object.
        if self.task == CLASSIFICATION:
            msgspec.structs.force_setattr(self, "task", CLASSIFICATION)
        is_plain = self.task.name == CLASSIFICATION.name and self.task.plain
        if self.loss != "cross_entropy" and not is_plain:
            raise ValueError(
                f"has loss {self.loss}, which is of classification without class weights and without "
                "smoothed or ignored labels; leave one out"
            )
        metrics = self.task.metric_names
        if self.target and self.target.metric not in metrics:
            raise ValueError(
                f"has target.{self.target.metric}, and {self.task.name} has {', '.join(metrics)}; "
                "name one of them"
            )


class Workload(WorkloadKeys, frozen=True, kw_only=True):
    """A block `workloads` of the config with its name, without batch size, length and precision, which are
    fields of `Spec`."""

    name: str

    @property
    def evaluated(self) -> tuple[str, ...]:
        """The splits that are evaluated after each epoch."""
        return ("validation", "test") if self.validation else ("test",)

    @property
    def model_name(self) -> str:
        """The key of the model's function in `MODELS` of a framework."""
        return str(self.model["name"])

    @property
    def model_options(self) -> Options:
        """The arguments of the model's function."""
        return {key: value for key, value in self.model.items() if key not in ("name", "pairs")}

    @property
    def pairs(self) -> dict[str, str]:
        """By name in another framework PyTorch's name of a layer or a free parameter."""
        return dict(self.model.get("pairs", {}))

    def with_model(self, **options: Any) -> "Workload":
        """Return a copy of the workload with these options of its model."""
        return replace(self, model=self.model | options)

    @property
    def dropout(self) -> float:
        """The share of values that the model drops in training."""
        return float(self.model.get("dropout", 0))

    @property
    def optimizer_name(self) -> str:
        """The update rule, or a framework's own optimizer."""
        return str(self.optimizer["name"])

    @property
    def optimizer_framework(self) -> str | None:
        """The framework whose own optimizer it is; None for a rule that all have."""
        return defining(self.optimizer_name)

    @property
    def framework_names(self) -> dict[str, str]:
        """The names of the framework's own `optimizer` and `schedule`, as far as these are its own."""
        names = {"optimizer": self.optimizer_name, "schedule": self.learning_rate.of_framework}
        return {part: name for part, name in names.items() if defining(name)}

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
    """How it is trained: a block `backends` of the config with its name, as far as it decides a result.

    `versions`: packages that it must have in these. `environment`: SHA-256 of what one of the user's holds.
    """

    name: str
    engine: str
    strategy: str
    device: DeviceKind
    feed: Feed = "batches"
    versions: dict[str, str] = ABSENT
    environment: str = ABSENT

    def differing(self, software: Mapping[str, str]) -> dict[str, str]:
        """By package, what is installed in another version: "2.9.1, 2.8.0 was asked for"."""
        result = {}
        for package, version in (self.versions or {}).items():
            installed = software.get(package, "none")
            if _plain(version) not in (_plain(installed), _plain(installed.partition("+")[0])):
                result[package] = f"{installed}, {version} was asked for"
        return result

    def gpus(self, replicas: int = 1) -> int | None:
        """The number of GPUs that so many replicas take; None, which Snakemake leaves out, on others."""
        return replicas if self.device == "gpu" else None


def _plain(version: str) -> str:
    """A version without zeros at its end: 2.8 is 2.8.0."""
    return re.sub(r"(\.0)+$", "", version)


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

    def split(self, examples: int) -> tuple[int, int]:
        """How many of the data set's training examples are trained on, and how many are held out.

        Raises `UserError` if those that are held out leave no batch.
        """
        workload = self.workload
        used = min(examples, workload.train_examples or examples)
        held = workload.validation.examples(used) if workload.validation else 0
        if held and used - held < self.global_batch:
            raise UserError(
                f"workloads.{workload.name}.validation: it holds out {held} of {used} training examples, "
                f"which leaves no batch of {self.global_batch}; hold out fewer"
            )
        return used - held, held

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

    def epoch_examples(self, examples: int) -> int:
        """Examples that an epoch trains on, of `examples` training examples: a partial batch has fewer."""
        return min(self.planned_steps(examples) * self.global_batch, examples)

    def tested_examples(self, examples: int) -> int:
        """Examples of one evaluation, of `examples` test examples."""
        evaluation = self.workload.evaluation
        if evaluation and evaluation.random_batches:
            return evaluation.random_batches * self.global_batch
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
