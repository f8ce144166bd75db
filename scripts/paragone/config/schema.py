"""The keys of config.yaml as types: what may be there, with bounds, defaults and a description of each key.

docs/configuration.md is made from them. The values themselves stay what YAML makes of them. Blocks that a
specification has as they are have their types in `run_spec`, `schedules` and `tasks`.
"""

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from paragone.base.typed_json import ABSENT, Count, Fraction, NotNegative, Positive, Share
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

Text = Annotated[str, Meta(min_length=1)]
# Names become those of files, of which one may have several.
_OF_NAMES = "at most 64 small letters, digits and"
# Packages, as the index names them, and the version of each.
Versions = dict[str, str]
Name = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9-]{0,63}$(?!\n)", description=f"{_OF_NAMES} -, a letter first")
]
Word = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9_]{0,63}$(?!\n)", description=f"{_OF_NAMES} _, a letter first")
]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Sizes = Annotated[list[Count], Meta(min_length=1)]
Precision = Literal["bfloat16", "float32", "float64"]
Tuning = Literal["as-installed", "tuned"]
Files = Annotated[
    dict[Annotated[str, Meta(pattern="^[A-Za-z0-9_.-]+$")], Sha256], Meta(min_length=1)
]
KerasFile = Annotated[
    dict[Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]+\.h5$")], Sha256],
    Meta(min_length=1, max_length=1),
]


class Closed(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A block without other keys."""


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


class OfSplit(Closed):
    """One value for each split

    train: the value for the training split
    test: the value for the test split
    """

    train: Text
    test: Text


class About(Closed):
    """Facts for the manifest

    licence: terms of use
    homepage: address of a description
    citation: how to cite it
    """

    licence: str = ABSENT
    homepage: str = ABSENT
    citation: str = ABSENT


class Examples(Closed):
    """Number of examples

    train: training examples
    test: test examples
    """

    train: Count
    test: Count


class StandIn(Closed):
    """Shapes of the synthetic stand-in, where other keys do not give them

    shape: shape of one example, channels last
    dtype: type of its values
    classes: number of classes
    vocabulary: number of word indices, of texts
    """

    shape: Sizes = ABSENT
    dtype: Literal["uint8", "float32"] = "uint8"
    classes: Annotated[int, Meta(ge=2)] = ABSENT
    vocabulary: Annotated[int, Meta(ge=4)] = ABSENT
    examples: Examples = ABSENT


class DatasetBlock(msgspec.Struct):
    """Data sets that workloads name, one block each; `tfds/<builder>` needs none. See docs/data.md

    form: what it is read from: module in scripts/paragone/data/forms/
    held_out: fraction of the examples held out for testing, where there is no test split
    classes: names of the classes, in their order; the data's own if absent
    """

    form: Word
    held_out: Annotated[float, Meta(gt=0, lt=1)] = ABSENT
    classes: Annotated[list[Text], Meta(min_length=2)] = ABSENT
    about: About = ABSENT
    stand_in: StandIn = ABSENT

    def __post_init__(self) -> None:
        if self.classes and len({*self.classes}) < len(self.classes):
            raise ValueError("two of the classes have one name; rename one")


Length = Annotated[int, Meta(ge=8, le=10000)]
Place = Text | OfSplit
Side = Annotated[int, Meta(ge=8, le=1024)]

Address = Annotated[str, Meta(pattern="^https?://")]
Editions = Annotated[
    dict[Annotated[str, Meta(pattern="^(?!synthetic$)[a-z0-9][a-z0-9-]*$")], Files],
    Meta(min_length=1),
]


class Tfds(DatasetBlock, forbid_unknown_fields=True, kw_only=True):
    """A builder of TensorFlow Datasets

    builder: a builder of TensorFlow Datasets, or of data/builders/ of a paper or a plugin
    config: the builder's config; its default if absent
    version: the builder's version; its default if absent
    split: the builder's splits, in its notation; train and test if absent
    input: the feature that a model sees; what the builder says if absent
    label: the feature that is learned; what the builder says if absent
    order_by: the feature by which examples are ordered before a part is held out; the builder's
        order if absent
    address: where the files of the edition `official` are published
    editions: edition -> file -> SHA-256; the first edition that is found is used; the files that
        the builder registers if absent
    size: pixels per side, to which images are resized
    length: words of each text; shorter texts are padded, longer ones lose their beginning
    words: so many of the most frequent words of the training split have an index
    """

    builder: Word
    config: Text = ABSENT
    version: Annotated[str, Meta(pattern="^[0-9]+\\.[0-9*]+\\.[0-9*]+$")] = ABSENT
    split: Text | OfSplit = ABSENT
    input: Text = ABSENT
    label: Text = ABSENT
    order_by: Text = ABSENT
    address: Address = ABSENT
    editions: Editions = ABSENT
    size: Side = ABSENT
    length: Length = 300
    words: Count = 20000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.address and not self.editions:
            raise ValueError("has an address and no editions; add the files' checksums")


class Folder(DatasetBlock, forbid_unknown_fields=True, kw_only=True):
    """Images in a folder per class

    path: folder, relative to the working directory; or one for train, one for test
    size: pixels per side, to which images are resized
    channels: 1 for gray, 3 for color
    range: the values that become 0 and 255, of images with more than 8 bits per value
    """

    path: Place
    size: Side
    channels: Literal[1, 3] = 3
    range: Annotated[list[float], Meta(min_length=2, max_length=2)] = ABSENT

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.range and not self.range[0] < self.range[1]:
            raise ValueError("has a range that does not rise; write the lower value first")


class Arrays(DatasetBlock, forbid_unknown_fields=True, kw_only=True):
    """NumPy's files

    path: .npz file, or folder of .npy files, relative to the working directory; or one for train,
        one for test
    inputs: name of the array in the .npz file, or of the .npy file in the folder; or one for
        train, one for test
    labels: name of the array of labels: integers or strings, one for each example or each word or
        pixel; or one for train, one for test
    targets: name of an array of numbers to learn in the place of labels, one or several for each
        example; or one for train, one for test
    indicators: name of an array (examples, classes) of 0 and 1 in the place of labels, with any
        number of classes for each example; or one for train, one for test
    ignored: the label that is no class, where each word or pixel has a label
    vocabulary: the inputs are indices of so many words
    """

    path: Place
    inputs: Text | OfSplit = "inputs"
    labels: Text | OfSplit = "labels"
    targets: Text | OfSplit = ABSENT
    indicators: Text | OfSplit = ABSENT
    ignored: int | Text = ABSENT
    vocabulary: Annotated[int, Meta(ge=2)] = ABSENT

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum(map(bool, (self.targets, self.indicators, self.ignored is not ABSENT))) > 1:
            raise ValueError("has two of targets, indicators and ignored; leave one of them out")


def _check_place(block: Any) -> None:
    if bool(block.path) == bool(block.editions):
        raise ValueError("has path and editions, or neither; write one of them")


class Idx(DatasetBlock, forbid_unknown_fields=True, kw_only=True):
    """Files of idx, as those of MNIST, Fashion-MNIST, EMNIST and KMNIST, packed by gzip or not

    path: folder of the files, relative to the working directory; or one for train, one for test;
        this or editions
    address: where the files of the edition `official` are published
    editions: edition -> file -> SHA-256; the first edition that is found is used
    inputs: name of the file of images; or one for train, one for test; if absent, those with
        `images` and with `train`, `t10k` or `test` in their names
    labels: name of the file of labels; or one for train, one for test; if absent, likewise
    """

    path: Place = ABSENT
    address: Address = ABSENT
    editions: Editions = ABSENT
    inputs: Text | OfSplit = ABSENT
    labels: Text | OfSplit = ABSENT

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_place(self)


class TableFile(DatasetBlock, forbid_unknown_fields=True, kw_only=True):
    """Texts or numbers in a CSV, TSV, Parquet or JSON file

    path: file, relative to the working directory; or one for train, one for test
    text: the column of texts
    columns: the columns of numbers that a model sees, in the place of texts
    targets: the columns of numbers to learn, in the place of labels
    indicators: the columns of 0 and 1, one for each class, in the place of labels
    label: the column of labels
    delimiter: the character between fields; a tab in a .tsv or .tab file, else a comma if absent
    quoting: whether quotation marks enclose a field; if absent they do, unless fields end at tabs
    encoding: encoding of the file, where it is not UTF-8 and has no byte order mark
    length: words of each text; shorter texts are padded, longer ones lose their beginning
    words: so many of the most frequent words of the training split have an index
    """

    path: Place
    text: Text = "text"
    columns: Annotated[list[Text], Meta(min_length=1)] = ABSENT
    targets: Annotated[list[Text], Meta(min_length=1)] = ABSENT
    indicators: Annotated[list[Text], Meta(min_length=2)] = ABSENT
    label: Text = "label"
    delimiter: Annotated[str, Meta(min_length=1, max_length=1)] = ABSENT
    quoting: bool = ABSENT
    encoding: Text = "utf-8"
    length: Length = 300
    words: Count = 20000

    def __post_init__(self) -> None:
        super().__post_init__()
        inputs = self.columns or [self.text]
        columns = [*inputs, *(self.targets or self.indicators or [self.label])]
        if len({*columns}) < len(columns):
            twice = next(name for at, name in enumerate(columns) if name in columns[:at])
            raise ValueError(
                f"names the column {twice!r} twice; a model sees it, or learns it: leave one of them out"
            )
        if (self.targets or self.indicators) and not self.columns:
            raise ValueError("has targets or indicators, no columns; add those that a model sees")
        if self.targets and self.indicators:
            raise ValueError("has targets and indicators; leave one of them out")
        try:
            "".encode(self.encoding)
        except LookupError:
            raise ValueError(
                f"has an encoding {self.encoding!r} that is not known; write utf-8, cp1252 or gb18030, say"
            ) from None


class Stream(DatasetBlock, forbid_unknown_fields=True, kw_only=True):
    """A text, or tokens, as one stream, of which the end is held out; examples are windows of it

    held_out: fraction at its end, held out for testing
    path: the file, relative to the working directory; this or editions
    address: where the files of the edition `official` are published
    editions: edition -> file -> SHA-256; the first edition that is found is used
    mirror: its folder in a mirror; the data set's name if absent
    unit: what a token is; tokens: numbers in a .npy file, or in a .bin file of 16 bits
        each, or with the header of llm.c
    length: tokens of a window
    """

    held_out: Annotated[float, Meta(gt=0, lt=1)]
    path: Text = ABSENT
    address: Address = ABSENT
    editions: Editions = ABSENT
    mirror: Word = ABSENT
    unit: Literal["characters", "bytes", "words", "tokens"] = "characters"
    length: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_place(self)


# The keys of the project's forms; a plugin's may have any.
FORMS = {"tfds": Tfds, "folder": Folder, "arrays": Arrays, "table": TableFile, "stream": Stream}
FORMS["idx"] = Idx


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


Rule = Literal["keras", "pytorch", "keras-2"]


class Optimizer(msgspec.Struct):
    """By one rule in every framework, or one framework's own; see docs/protocols.md

    name: update rule: sgd, adam, adamw, nadam, rmsprop, adagrad, or a framework's own
    """

    name: str


class Common(Optimizer, forbid_unknown_fields=True, kw_only=True):
    """What every optimizer of the project can have

    defaults: keys that are left out, and the base of the learning rate, are those that an
        optimizer of this name has in this framework; the record has them as numbers
    clip_norm: gradients are scaled so that the norm of all together is at most this
    weight_decay: this times the weight is added to its clipped gradient
    accumulate: an update is taken after so many batches, by the mean of their gradients; 1 if
        absent
    decays: the arrays that decay: all, or those of two or more dimensions
    """

    defaults: Literal["keras-2", "keras-3", "pytorch"] = ABSENT
    clip_norm: Positive = ABSENT
    weight_decay: Positive = ABSENT
    accumulate: Annotated[int, Meta(ge=2)] = ABSENT
    decays: Literal["all", "matrices"] = "all"

    def __post_init__(self) -> None:
        if getattr(self, "rule", None) == "keras-2" and self.name != "nadam":
            raise ValueError("has rule keras-2, which is of nadam alone; write keras or pytorch")
        if self.decays != "all" and not self.weight_decay:
            raise ValueError("has decays and no weight_decay; add it, or leave both out")


class Sgd(Common, kw_only=True):
    """Stochastic gradient descent

    momentum: share of the last update that is added; 0 for none
    nesterov: Nesterov's momentum
    """

    momentum: Fraction
    nesterov: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nesterov and not self.momentum:
            raise ValueError("has nesterov and no momentum; leave it out")


class Adam(Common, kw_only=True):
    """Adam

    beta_1: decay of the mean of gradients
    beta_2: decay of the mean of squared gradients
    epsilon: added to the root of the mean square, where the rule has it
    rule: whose rule of this name, where frameworks differ (keras-2: of nadam alone); see
        docs/protocols.md
    """

    beta_1: Fraction
    beta_2: Fraction
    epsilon: Positive
    rule: Rule = "keras"


class AdamW(Adam, kw_only=True):
    """Adam with decoupled weight decay

    weight_decay: this times the weight is added to what the learning rate multiplies
    """

    weight_decay: Positive


class Nadam(Adam, kw_only=True):
    """Adam with Nesterov's momentum

    deduplicate: add the gradients of a word that a batch repeats before they are squared
    """

    deduplicate: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule == "keras-2" and not self.deduplicate:
            raise ValueError(
                "has deduplicate: false, which is not of rule keras-2; leave one of them out"
            )
        changed = self.clip_norm or self.weight_decay or self.accumulate
        if changed and (self.rule == "keras-2" or not self.deduplicate):
            raise ValueError(
                "has a rule for raw gradients of words (deduplicate: false, or keras-2); leave it out, or "
                "clip_norm, weight_decay and accumulate"
            )


class Rmsprop(Common, kw_only=True):
    """The gradient divided by the root of a mean of its squares

    rho: decay of the mean of squared gradients
    momentum: share of the last update that is added; 0 for none
    epsilon: added to the root of the mean square, or under it, where the rule has it
    rule: pytorch, or keras, which has no momentum here; see docs/protocols.md
    """

    rho: Fraction
    epsilon: Positive
    momentum: Fraction = 0.0
    rule: Literal["keras", "pytorch"] = "pytorch"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule == "keras" and self.momentum:
            raise ValueError(
                "has momentum and rule keras, whose velocity sums rates, too; leave one of them out, or name "
                "keras.optimizers.RMSprop"
            )


class Adagrad(Common, kw_only=True):
    """The gradient divided by the root of the sum of its squares

    initial: the sum of squares at the beginning
    epsilon: added to the root of the sum of squares
    """

    initial: NotNegative
    epsilon: Positive


# The keys of the project's optimizers; a framework's own may have any.
OPTIMIZERS = {
    "sgd": Sgd,
    "adam": Adam,
    "adamw": AdamW,
    "nadam": Nadam,
    "rmsprop": Rmsprop,
    "adagrad": Adagrad,
}

_SGD = {"base": 0.01, "momentum": 0.0, "nesterov": False}
_ADAM = {"base": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7, "rule": "keras"}
_OF_TORCH = _ADAM | {"epsilon": 1e-8, "rule": "pytorch"}
_RMSPROP = {"base": 0.001, "rho": 0.9, "momentum": 0.0, "epsilon": 1e-7, "rule": "pytorch"}
# By framework and optimizer what a program has that sets nothing; `base`: the learning rate. keras-2: from
# 2.1 to TensorFlow 2.10, whose Nadam had two rates. An optimizer of another rule than ours is not here.
DEFAULTS: dict[str, dict[str, dict[str, Any]]] = {
    "keras-2": {
        "sgd": _SGD,
        "adam": _ADAM,
        "nadam": {k: v for k, v in _ADAM.items() if k != "base"} | {"rule": "keras-2"},
        "rmsprop": _RMSPROP,
    },
    "keras-3": {
        "sgd": _SGD,
        "adam": _ADAM,
        "adamw": _ADAM | {"weight_decay": 0.004},
        "nadam": _ADAM,
        "rmsprop": _RMSPROP | {"rule": "keras"},
        "adagrad": {"base": 0.001, "initial": 0.1, "epsilon": 1e-7},
    },
    "pytorch": {
        "sgd": _SGD | {"base": 0.001},
        "adam": _OF_TORCH,
        "adamw": _OF_TORCH | {"weight_decay": 0.01},
        "nadam": _OF_TORCH | {"base": 0.002},
        "rmsprop": _RMSPROP | {"base": 0.01, "rho": 0.99, "epsilon": 1e-8},
    },
}


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

    workloads: dict[Name, dict[str, Any]] = {}
    experiments: dict[Word, dict[str, Any]] = {}


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
