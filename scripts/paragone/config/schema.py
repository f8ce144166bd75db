"""The keys of config.yaml as types: what may be there, with bounds, defaults and a description of each key.

docs/configuration.md is made from them. The values themselves stay what YAML makes of them. Data sets and
optimizers have their types in `dataset_keys` and `optimizer_keys`, blocks that a specification has as they
are in `run_spec`, `schedules` and `tasks`.
"""

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from paragone.base.typed_json import ABSENT, Count, Positive, Share
from paragone.config.key_types import (
    Closed,
    KerasFile,
    Name,
    Precision,
    Sizes,
    Text,
    Tuning,
    Versions,
    Word,
)
from paragone.config.optimizer_keys import DEFAULTS, OPTIMIZERS
from paragone.config.run_spec import (
    Backend,
    DeviceKind,
    Feed,
    Operands,
    Target,
    Tuned,
    WorkloadKeys,
    as_list,
)
from paragone.config.schedules import LearningRate


class Pathvars(Closed):
    """Where results are written

    results: folder of all results, relative to the working directory
    environments: folder of the environments that are made; several checkouts may share it
    """

    results: Text
    environments: Text


class Data(Closed):
    """Where data come from and where their arrays are stored

    folder: raw files and serialized arrays; several checkouts may share it
    source: auto: mirrors, official address, synthetic stand-in; real: never the stand-in;
        synthetic: never the network
    mirrors: folders or addresses with one folder per data set; PARAGONE_MIRRORS adds more
    pretrained: published weights: model -> name of Keras' own file -> SHA-256
    """

    folder: Text
    source: Literal["auto", "real", "synthetic"]
    mirrors: list[Text]
    pretrained: dict[Literal["mobilenet-v2"], KerasFile]


class ContestLengths(Closed):
    """How long the variants of a question are timed in turn, where an experiment asks for `contests`

    rounds: turns of each variant in a contest
    window_seconds: length of a turn
    minutes: for the contests of one question; three are held, however long they take. Time lost to other
        programs is added: at most twice as much
    load: the share of the machine that others may have in a turn; a turn in which they have more is repeated
    """

    rounds: Count
    window_seconds: Positive
    minutes: Positive
    load: Share


class Primary(Closed):
    """The one question of the report; every other comparison of backends is exploratory

    experiment: one of experiments
    metric: what its variants are compared by
    """

    experiment: str
    metric: Literal[
        "speed",
        "end to end",
        "time to target",
        "test accuracy",
        "test top-5 accuracy",
        "test R²",
        "test micro F1",
        "test mean absolute error",
        "test perplexity",
        "test loss",
        "peak memory",
        "energy",
    ]


_PACKAGE, _VERSION = r"[a-z0-9]+(-[a-z0-9]+)*", r"\d[a-z0-9]*(\.[a-z0-9]+)*(\+[a-z0-9.]+)?"


def _check_versions(choices: list[Versions]) -> None:
    for package, version in (pair for versions in choices for pair in versions.items()):
        if not re.fullmatch(_PACKAGE, package):
            raise ValueError(f"has a package {package!r}; write small letters, digits and -")
        if not re.fullmatch(_VERSION, version):
            raise ValueError(f"has {package} {version!r}; write one version, such as 2.8.0")


class BackendBlock(Closed, kw_only=True):
    """Backends, by name; see docs/backends.md

    engine: module in scripts/paragone/engines/
    strategy: one of the engine's strategies in scripts/paragone/config/engines.py
    device: the kind of device that replicas run on; a run that finds another one is
        `unavailable`
    environment: envs/<environment>.yaml, used with --software-deployment-method conda; or a path
        with a dot or a slash: a file of requirements, from which an environment is made, or the
        folder of a virtual one
    versions: packages of the environment in other versions, {torch: 2.8.0}; it is made for them
    feed: how batches get to the device: each copied as it is drawn; from page-locked memory
        (CUDA); or as rows of inputs that are all there; an engine has its feeds in
        config/engines.py
    parity: precision of the parity gate; float32 where a device has no double precision
    label: name in figures and tables
    color: color in every figure, #rrggbb
    """

    engine: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$")]
    strategy: str
    device: DeviceKind
    environment: Text
    versions: Versions = ABSENT
    feed: Feed = "batches"
    parity: Literal["float32", "float64"] = "float64"
    tuned: Tuned = ABSENT
    label: Text
    color: Annotated[str, Meta(pattern="^#[0-9A-Fa-f]{6}$")]

    def __post_init__(self) -> None:
        _check_versions([self.versions or {}])

    def backend(self, name: str) -> Backend:
        """Return what a specification has of the block."""
        given = self.engine, self.strategy, self.device, self.feed
        return Backend(name, *given, versions=self.versions or ABSENT)


# The two names of a batch size; a block gives one of them.
BATCH_SIZES = ("global_batch", "per_replica_batch")


def _check_batch_size(block: Any) -> None:
    if all(getattr(block, key) for key in BATCH_SIZES):
        raise ValueError(f"has both {' and '.join(BATCH_SIZES)}; leave one of them out")


class WorkloadBlock(WorkloadKeys, frozen=True, kw_only=True):
    """Data set, model, optimizer and schedule, by name; the same for every framework

    global_batch: examples of all replicas per step; this or per_replica_batch
    per_replica_batch: examples per replica and step; this or global_batch
    epochs: passes over the training examples
    steps_per_epoch: steps of an epoch; all batches if null or absent
    precision: of weights and arithmetic; bfloat16 is of the layers' arithmetic alone (mixed
        precision)
    """

    dataset: Text  # any, so that `validate` says which one is near
    learning_rate: LearningRate = LearningRate()
    global_batch: Count = ABSENT
    per_replica_batch: Count = ABSENT
    epochs: Count
    steps_per_epoch: Count | None = None
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        self._write_out_defaults()
        super().__post_init__()
        _check_batch_size(self)
        if not any(getattr(self, key) for key in BATCH_SIZES):
            raise ValueError(f"has no batch size; add {' or '.join(BATCH_SIZES)}")
        model = self.model["name"], self.model.get("outputs")
        if self.initializer == "imagenet" and model != ("mobilenet-v2", 1000):
            raise ValueError(
                "has the weights of ImageNet, which are those of mobilenet-v2 with 1000 outputs; "
                "write both in `model`"
            )

    def _write_out_defaults(self) -> None:
        options, name = dict(self.optimizer), self.optimizer.get("name")
        if name not in OPTIMIZERS or "defaults" not in options:
            return
        theirs = DEFAULTS.get(str(options.pop("defaults")), {}).get(name)
        if theirs is None:
            offered = (f"{source} for {', '.join(rules)}" for source, rules in DEFAULTS.items())
            raise ValueError(
                f"has defaults that are not there for {name}; there are {'; '.join(offered)}: write the "
                "numbers, or a framework's own, as torch.optim.Adagrad"
            )
        options = theirs | options
        base = options.pop("base", ABSENT)
        msgspec.structs.force_setattr(self, "optimizer", options)
        if self.learning_rate.base is ABSENT and not self.learning_rate.absolute:
            rate = msgspec.structs.replace(self.learning_rate, base=base)
            msgspec.structs.force_setattr(self, "learning_rate", rate)


class MatrixRow(Closed, kw_only=True):
    """Each row is the product of its lists; each combination is a cell

    workload: instead of the experiment's
    backend: one of backends, or several
    replicas: copies of the model, or several numbers of them
    epochs: instead of the experiment's
    steps_per_epoch: instead of the experiment's; all batches if null
    target: instead of the experiment's
    workers: processes; if absent what the strategy has: one, or one per replica
    global_batch: instead of the experiment's batch size, or several
    per_replica_batch: instead of the experiment's batch size, or several
    precision: instead of the workload's, or several
    tuning: as-installed if absent; tuned needs the backend's `tuned`; or both
    versions: each backend in an environment with these versions of packages, one of the list each:
        [{torch: 2.8.0}, {torch: 2.9.1}]; {} is the backend as it is; see docs/backends.md#versions
    """

    workload: Name = ABSENT
    # No patterns here: msgspec 0.22 crashes on a union of a text with a pattern and something else.
    backend: Text | Annotated[list[Text], Meta(min_length=1)]
    replicas: Count | Sizes
    epochs: Count = ABSENT
    steps_per_epoch: Count | msgspec.UnsetType | None = msgspec.UNSET
    target: Target = ABSENT
    workers: Count = ABSENT
    global_batch: Count | Sizes = ABSENT
    per_replica_batch: Count | Sizes = ABSENT
    precision: Precision | Annotated[list[Precision], Meta(min_length=1)] = ABSENT
    tuning: Tuning | Annotated[list[Tuning], Meta(min_length=1)] = ABSENT
    versions: Versions | Annotated[list[Versions], Meta(min_length=1)] = ABSENT

    def __post_init__(self) -> None:
        _check_batch_size(self)
        _check_versions(as_list(self.versions or []))


class PageSection(Closed):
    """A part of the page

    title: title of its figures and tables
    figures: names of figures, drawn to <results>/figures/<section>/
    tables: names of tables, written to <results>/tables/<section>/
    published: experiment of a paper's numbers.csv that it is compared with; empty for none, and
        if absent what the paper's experiment of this name has
    """

    title: Text
    figures: list[str]
    tables: list[str]
    published: str = ""


class Experiment(PageSection, kw_only=True):
    """Questions, by name; each is a matrix of runs and the figures and tables that answer it

    workload: one of workloads
    global_batch: instead of the workload's batch size
    per_replica_batch: instead of the workload's batch size
    epochs: instead of the workload's
    steps_per_epoch: instead of the workload's; all batches if null
    train_examples: instead of the workload's
    target: instead of the workload's
    repeats: runs of each cell, which differ by seed
    contests: contests at most of the variants that do the same work: all alive at once, timed
        in turn, until every pair is decided; see docs/method.md#contests
    matrix: each row is the product of its lists; each combination is a cell
    """

    workload: Name
    global_batch: Count = ABSENT
    per_replica_batch: Count = ABSENT
    epochs: Count = ABSENT
    steps_per_epoch: Count | msgspec.UnsetType | None = msgspec.UNSET
    train_examples: Count = ABSENT
    target: Target = ABSENT
    repeats: Count = 1
    contests: Annotated[int, Meta(ge=0)] = 0
    matrix: Annotated[list[MatrixRow], Meta(min_length=1)]

    def __post_init__(self) -> None:
        _check_batch_size(self)


class Matmul(PageSection, kw_only=True):
    """Matrix products; the fastest square one of a device and precision is the peak of FLOP shares

    backends: backends to measure, one device each
    products: (m, k) @ (k, n) as [m, k, n], in float32 as published
    squares: sizes n of square products (n, n) @ (n, n) on CPUs
    accelerator_squares: sizes n of square products on GPUs and TPUs, which small ones do not fill
    precisions: of the operands of square products
    repeats: timed runs of each product
    """

    backends: Annotated[list[Name], Meta(min_length=1)]
    products: list[Annotated[list[Count], Meta(min_length=3, max_length=3)]]
    squares: Sizes
    accelerator_squares: Sizes
    precisions: Annotated[list[Operands], Meta(min_length=1)]
    repeats: Count


class AcceleratorReference(PageSection):
    """Published tables of accelerators, with this machine's measured peak"""


class Margin(Closed):
    """Differences that do not matter, fixed beforehand, by metric: the lesser of two

    share: of the way that training covers
    error: share of the error that is left
    """

    share: Positive
    error: Positive = 0.2

    def of(self, reach: float, error: float) -> float:
        """The margin where training covers `reach`, or nothing, and leaves an `error`."""
        return max(min(self.share * reach, self.error * error), 0.0)


class Reduced(Closed):
    """What is cut down of the papers' workloads and experiments

    workloads: keys of workloads
    experiments: keys of experiments
    """

    workloads: dict[Name, dict[str, Any]] = msgspec.field(default_factory=dict)
    experiments: dict[Word, dict[str, Any]] = msgspec.field(default_factory=dict)


class Given(Closed):
    """What there are records of, for an experiment that is drawn from records alone"""

    runs: list[str]
    contests: list[str]


class Config(Closed):
    """config.yaml

    plugins: folders, relative to the working directory, with models, engines, forms of data,
        and figures of your own; see docs/extending.md
    papers: published sources whose experiments are added: folders of papers/ by name, or paths
        of others; see docs/extending.md#a-paper
    only: names of experiments: all others are left out; the first is the primary question,
        unless that is among them; [] for all
    frameworks: backends of other frameworks, and experiments that have no other, are left out;
        [] for all
    seed: repeat k of every experiment uses seed + k on every backend
    baseline: backend that the figure `variants` compares all others with
    deterministic: bit-equal repetition where the framework offers it
    environments: one: backends run in that of this call, and only those with versions or a path
        have others; separate: each runs in its own, made from envs/, as with conda
    records_only: draw from existing records; fetch, train and measure nothing. A mapping names
        the runs and contests of each experiment
    reduced: what is cut down of the papers: under workloads and experiments, by name, the keys
        that differ; null for nothing
    """

    pathvars: Pathvars
    plugins: list[Text]
    papers: list[Text]
    only: list[str]
    frameworks: list[Literal["tensorflow", "torch", "torch-xla", "jax"]]
    data: Data
    datasets: dict[Word, dict[str, Any]]
    seed: Annotated[int, Meta(ge=0, le=2147483647)]
    contest: ContestLengths
    primary: Primary
    baseline: str
    deterministic: bool
    environments: Literal["one", "separate"]
    records_only: bool | dict[str, Given]
    backends: dict[Name, BackendBlock]
    workloads: dict[Name, WorkloadBlock]
    experiments: Annotated[dict[Word, Experiment], Meta(min_length=1)]
    reduced: Reduced | None
    margins: dict[str, Margin]
    matmul: Matmul
    accelerator_reference: AcceleratorReference
