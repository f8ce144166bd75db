"""The keys of config.yaml as types: what may be there, with bounds, defaults and a description of each key.

docs/configuration.md is made from them. The values themselves stay what YAML makes of them.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from paragone.config.run_spec import DeviceKind, Feed, Initializer, Loss, PartialBatch, Shuffle
from paragone.config.schedules import Shape, Unit
from paragone.tasks import MetricName, TaskName

ABSENT: Any = None  # the default of a key that may be left out
Text = Annotated[str, Meta(min_length=1)]
Name = Annotated[str, Meta(pattern="^[a-z][a-z0-9-]*$")]
Word = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$")]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Meta(ge=1)]
Sizes = Annotated[list[Count], Meta(min_length=1)]
Names = Annotated[list[Name], Meta(min_length=1)]
Positive = Annotated[float, Meta(gt=0)]
Fraction = Annotated[float, Meta(ge=0, lt=1)]
Precision = Literal["bfloat16", "float32", "float64"]
Tuning = Literal["as-installed", "tuned"]
Files = Annotated[
    dict[Annotated[str, Meta(pattern="^[A-Za-z0-9_.-]+$")], Sha256], Meta(min_length=1)
]
KerasFile = Annotated[
    dict[Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]+\.h5$")], Sha256],
    Meta(min_length=1, max_length=1),
]


def says(description: str) -> Meta:
    """The description of a key."""
    return Meta(description=description)


class Open(msgspec.Struct):
    """A block that may have keys of a plugin's own."""


class Closed(msgspec.Struct, forbid_unknown_fields=True):
    """A block without other keys."""


class Pathvars(Closed):
    """where results are written"""

    results: Annotated[Text, says("folder of all results, relative to the working directory")]


class Data(Closed):
    """where data come from and where their arrays are stored"""

    folder: Annotated[Text, says("raw files and serialized arrays; several checkouts may share it")]
    source: Annotated[
        Literal["auto", "real", "synthetic"],
        says(
            "auto: mirrors, official address, synthetic stand-in; real: never the stand-in; synthetic: never "
            "the network"
        ),
    ]
    mirrors: Annotated[
        list[Text],
        says("folders or addresses with one folder per data set; PARAGONE_MIRRORS adds more"),
    ]
    lock: Annotated[
        Text,
        says(
            "file with the checksums of data that no config lists, written by their first use; relative to "
            "the working directory; keep it"
        ),
    ]
    pretrained: Annotated[
        dict[Literal["mobilenet-v2"], KerasFile],
        says("published weights: model -> name of Keras' own file -> SHA-256"),
    ]


class OfSplit(Closed):
    """one value for each split"""

    train: Annotated[Text, says("of the training split")]
    test: Annotated[Text, says("of the test split")]


class About(Closed):
    """facts for the manifest"""

    licence: Annotated[str, says("terms of use")] = ABSENT
    homepage: Annotated[str, says("address of a description")] = ABSENT
    citation: Annotated[str, says("how to cite it")] = ABSENT


class Examples(Closed):
    """number of examples"""

    train: Annotated[Count, says("training examples")]
    test: Annotated[Count, says("test examples")]


class StandIn(Closed):
    """shapes of the synthetic stand-in, where neither other keys nor a first use give them"""

    shape: Annotated[Sizes, says("of one example, channels last")] = ABSENT
    dtype: Annotated[Literal["uint8", "float32"], says("of one example")] = "uint8"
    classes: Annotated[int, Meta(ge=2), says("number of classes")] = ABSENT
    vocabulary: Annotated[int, Meta(ge=4), says("number of word indices, of texts")] = ABSENT
    examples: Examples = ABSENT


class Dataset(Open):
    """data sets that workloads name, one block each; `tfds/<builder>` needs none. See docs/data.md"""

    form: Annotated[Word, says("what it is read from: module in scripts/paragone/data/forms/")]
    held_out: Annotated[
        float,
        Meta(gt=0, lt=1),
        says("fraction of the examples held out for testing, where there is no test split"),
    ] = ABSENT
    classes: Annotated[
        list[Text],
        Meta(min_length=2),
        says("names of the classes, in their order; the data's own if absent"),
    ] = ABSENT
    about: About = ABSENT
    stand_in: StandIn = ABSENT

    def __post_init__(self) -> None:
        """Raise `ValueError` for classes of one name."""
        if self.classes and len({*self.classes}) < len(self.classes):
            raise ValueError("two of the classes have one name; rename one")


Length = Annotated[
    int,
    Meta(ge=8, le=10000),
    says("of texts: words of each; shorter ones are padded, longer ones lose their beginning"),
]
Vocabulary = Annotated[
    Count, says("of texts: so many of the most frequent words of the training split have an index")
]
Place = Annotated[
    Text | OfSplit,
    says(
        "of folder, arrays and table: file or folder, relative to the working directory; or one for train, "
        "one for test"
    ),
]
Side = Annotated[
    int,
    Meta(ge=8, le=1024),
    says("of tfds and folder: pixels per side, to which images are resized"),
]


Address = Annotated[
    str,
    Meta(pattern="^https?://"),
    says("of tfds and stream: where the files of the edition `official` are published"),
]
Editions = Annotated[
    dict[Annotated[str, Meta(pattern="^(?!synthetic$)[a-z0-9][a-z0-9-]*$")], Files],
    Meta(min_length=1),
    says(
        "of tfds and stream: edition -> file -> SHA-256; the first edition that is found is used. Of tfds "
        "the files that the builder registers, if absent"
    ),
]


class Tfds(Dataset, forbid_unknown_fields=True, kw_only=True):
    """a builder of TensorFlow Datasets"""

    builder: Annotated[
        Word,
        says("of tfds: a builder of TensorFlow Datasets, or of scripts/paragone/data/builders/"),
    ]
    config: Annotated[Text, says("of tfds: the builder's config; its default if absent")] = ABSENT
    version: Annotated[
        str,
        Meta(pattern=r"^[0-9]+\.[0-9*]+\.[0-9*]+$"),
        says("of tfds: the builder's version; its default if absent"),
    ] = ABSENT
    split: Annotated[
        Text | OfSplit,
        says("of tfds: the builder's splits, in its notation; train and test if absent"),
    ] = ABSENT
    input: Annotated[
        Text, says("of tfds: the feature that a model sees; what the builder says if absent")
    ] = ABSENT
    label: Annotated[
        Text,
        says(
            "of tfds: the feature, what the builder says if absent; of table: the column of labels, `label` "
            "if absent"
        ),
    ] = ABSENT
    order_by: Annotated[
        Text,
        says(
            "of tfds: the feature by which examples are ordered before a part is held out; the builder's "
            "order if absent"
        ),
    ] = ABSENT
    files: Annotated[
        list[str],
        Meta(min_length=1),
        says(
            "of tfds: those of the builder's registered files that its config needs; all if absent"
        ),
    ] = ABSENT
    address: Address = ABSENT
    editions: Editions = ABSENT
    size: Side = ABSENT
    length: Length = 300
    words: Vocabulary = 20000

    def __post_init__(self) -> None:
        """Raise `ValueError` for an address without the editions that are there."""
        super().__post_init__()
        if self.address and not self.editions:
            raise ValueError("has an address and no editions; add the files' checksums")


class Folder(Dataset, forbid_unknown_fields=True, kw_only=True):
    """images in a folder per class"""

    path: Place
    size: Side
    channels: Annotated[Literal[1, 3], says("of folder: 1 for gray, 3 for color")] = 3
    range: Annotated[
        list[float],
        Meta(min_length=2, max_length=2),
        says(
            "of folder: the values that become 0 and 255, of images with more than 8 bits per value"
        ),
    ] = ABSENT

    def __post_init__(self) -> None:
        """Raise `ValueError` for a range that does not rise."""
        super().__post_init__()
        if self.range and not self.range[0] < self.range[1]:
            raise ValueError("has a range that does not rise; write the lower value first")


class Arrays(Dataset, forbid_unknown_fields=True, kw_only=True):
    """NumPy's files"""

    path: Place
    inputs: Annotated[
        Text | OfSplit,
        says(
            "of arrays: name of the array in the .npz file, or of the .npy file in the folder; or one for "
            "train, one for test"
        ),
    ] = "inputs"
    labels: Annotated[
        Text | OfSplit,
        says(
            "of arrays: likewise; integers or strings, one for each example or each word or pixel"
        ),
    ] = "labels"
    targets: Annotated[
        Text | OfSplit,
        says(
            "of arrays: likewise, numbers to learn in the place of labels, one or several for each "
            "example; of table: a list of columns of such numbers"
        ),
    ] = ABSENT
    vocabulary: Annotated[
        int, Meta(ge=2), says("of arrays: the inputs are indices of so many words")
    ] = ABSENT


class Table(Dataset, forbid_unknown_fields=True, kw_only=True):
    """texts or numbers in a CSV, TSV or Parquet file"""

    path: Place
    text: Annotated[Text, says("of table: the column of texts")] = "text"
    columns: Annotated[
        list[Text],
        Meta(min_length=1),
        says("of table: the columns of numbers that a model sees, in the place of texts"),
    ] = ABSENT
    targets: Annotated[
        list[Text],
        Meta(min_length=1),
        says("of table: the columns of numbers to learn, in the place of labels"),
    ] = ABSENT
    label: Annotated[Text, says("of table: the column of labels")] = "label"
    delimiter: Annotated[
        str,
        Meta(min_length=1, max_length=1),
        says("of table: between fields; a tab in a .tsv or .tab file, else a comma if absent"),
    ] = ABSENT
    quoting: Annotated[
        bool,
        says(
            "of table: whether quotation marks enclose a field; if absent they do, unless fields end at tabs"
        ),
    ] = ABSENT
    encoding: Annotated[
        Text, says("of table: of the file, where it is not UTF-8 and has no byte order mark")
    ] = "utf-8"
    length: Length = 300
    words: Vocabulary = 20000

    def __post_init__(self) -> None:
        """Raise `ValueError` for an encoding that Python does not know, and for targets without columns."""
        super().__post_init__()
        if self.targets and not self.columns:
            raise ValueError("has targets and no columns; add those that a model sees")
        try:
            "".encode(self.encoding)
        except LookupError:
            raise ValueError(
                f"has an encoding {self.encoding!r} that is not known; write utf-8, cp1252 or gb18030, say"
            ) from None


class Stream(Dataset, forbid_unknown_fields=True, kw_only=True):
    """a text, or tokens, as one stream, of which the end is held out; examples are windows of it"""

    held_out: Annotated[
        float, Meta(gt=0, lt=1), says("of stream: fraction at its end, held out for testing")
    ]
    path: Annotated[Text, says("of stream: the file, relative to the working directory")] = ABSENT
    address: Address = ABSENT
    editions: Editions = ABSENT
    mirror: Annotated[
        Word, says("of stream: its folder in a mirror; the data set's name if absent")
    ] = ABSENT
    unit: Annotated[
        Literal["characters", "bytes", "words", "tokens"],
        says(
            "of stream: what a token is; tokens: numbers in a .npy file, or in a .bin file of 16 bits each"
        ),
    ] = "characters"
    length: Annotated[int, Meta(ge=1), says("of stream: tokens of a window")]

    def __post_init__(self) -> None:
        """Raise `ValueError` unless the file is named or its checksum listed."""
        super().__post_init__()
        if bool(self.path) == bool(self.editions):
            raise ValueError("has path and editions, or neither; write one of them")


# The keys of the project's forms; a plugin's may have any.
FORMS = {"tfds": Tfds, "folder": Folder, "arrays": Arrays, "table": Table, "stream": Stream}


class SpeedWindow(Closed):
    """training after the epochs of a run, to measure its speed; the state is restored"""

    seconds: Annotated[
        float, Meta(ge=0), says("of training at least; 0 for no window, and no speed")
    ]
    limit_seconds: Annotated[Positive, says("of training at most, for the least number of steps")]


class Contest(Closed):
    """how long the variants of a question are timed in turn, where an experiment asks for `contests`"""

    rounds: Annotated[Count, says("turns of each variant in a contest")]
    window_seconds: Annotated[Positive, says("of a turn")]
    minutes: Annotated[
        Positive,
        says("for the contests of one question; three are held, however long they take"),
    ]
    sessions: Annotated[
        Count,
        says(
            "calls, at different hours or days, whose contests are wanted: each call adds one, and "
            "three speak of the machine"
        ),
    ]


class Primary(Closed):
    """the one question of the report; every other comparison of backends is exploratory"""

    experiment: str
    metric: Literal[
        "speed",
        "end to end",
        "time to target",
        "test accuracy",
        "test R²",
        "test mean absolute error",
        "test perplexity",
        "test loss",
        "peak memory",
        "energy",
    ]


class Tuned(Closed):
    """what the tuning `tuned` changes, with the same training semantics; see docs/method.md"""

    variables: Annotated[
        dict[str, str],
        Meta(min_length=1),
        says("environment variables that a worker is started with"),
    ] = ABSENT
    options: Annotated[
        dict[str, bool | int],
        Meta(min_length=1),
        says("options of the engine, see tuned in scripts/paragone/config/engines.py"),
    ] = ABSENT

    def __post_init__(self) -> None:
        """Raise `ValueError` for an empty block."""
        if self.variables is None and self.options is None:
            raise ValueError("is empty; add variables or options, or leave it out")


class Backend(Closed, kw_only=True):
    """backends, by name; see docs/backends.md"""

    engine: Annotated[
        str, Meta(pattern="^[a-z][a-z0-9_]*$"), says("module in scripts/paragone/engines/")
    ]
    strategy: Annotated[
        str, says("one of the engine's strategies in scripts/paragone/config/engines.py")
    ]
    device: Annotated[
        DeviceKind,
        says(
            "the kind of device that replicas run on; a run that finds another one is `unavailable`"
        ),
    ]
    environment: Annotated[
        Name, says("envs/<environment>.yaml, used with --software-deployment-method conda")
    ]
    feed: Annotated[
        Feed,
        says(
            "how batches get to the device: each copied as it is drawn; from page-locked memory, one step "
            "ahead (CUDA); or as rows of inputs that are all there; an engine has its feeds in "
            "config/engines.py"
        ),
    ] = "batches"
    loader: Annotated[
        Word,
        says(
            "module in scripts/paragone/data/loaders/ that makes the training batches, as tutorials do it; "
            "if absent they are read from the mapped arrays; see docs/backends.md#loaders"
        ),
    ] = ABSENT
    parity: Annotated[
        Literal["float32", "float64"],
        says("precision of the parity gate; float32 where a device has no double precision"),
    ] = "float64"
    tuned: Tuned = ABSENT
    label: Annotated[Text, says("name in figures and tables")]
    color: Annotated[str, Meta(pattern="^#[0-9A-Fa-f]{6}$"), says("color in every figure, #rrggbb")]


class Model(Open):
    """what else is given are options of the model's function in scripts/paragone/models/"""

    name: Annotated[Name, says("model in scripts/paragone/models/")]


class Augmentation(Closed):
    """random changes of training images; none if absent"""

    shift: Annotated[Fraction, says("largest shift in each direction, as a fraction of a side")]
    flip: Annotated[bool, says("exchange left and right with probability 1/2")]
    crop: Annotated[
        Count,
        says(
            "pad each side with so many black pixels, then cut a part of the old size out at random"
        ),
    ] = ABSENT
    cutout: Annotated[
        Count, says("make a square of so many pixels per side black, around a random pixel")
    ] = ABSENT


class Evaluation(Closed):
    """the test examples of each evaluation; all if absent"""

    first: Annotated[Count, says("the first so many")] = ABSENT
    random_batches: Annotated[
        Count, says("so many of the global batch, drawn anew for each evaluation, with replacement")
    ] = ABSENT

    def __post_init__(self) -> None:
        """Raise `ValueError` unless it says one thing."""
        if bool(self.first) == bool(self.random_batches):
            raise ValueError("has first and random_batches, or neither; write one of them")


class Input(Closed):
    """x = (stored / divide - mean) / std; absent for word indices"""

    divide: Annotated[Positive, says("divisor of the stored pixel, 0 to 255")]
    mean: Annotated[
        float | list[float], says("mean of the divided pixels, or of each channel's, as a list")
    ]
    std: Annotated[
        Positive | list[Positive], says("standard deviation of the divided pixels, or likewise")
    ]


# Options that several optimizers have.
Beta1 = Annotated[Fraction, says("of adam, adamw and nadam: decay of the mean of gradients")]
Beta2 = Annotated[
    Fraction, says("of adam, adamw and nadam: decay of the mean of squared gradients")
]
Epsilon = Annotated[Positive, says("of all but sgd: placed as the rule has it")]
Rule = Annotated[
    Literal["keras", "pytorch", "keras-2"],
    says(
        "whose rule of this name, where frameworks differ (keras-2: of nadam); see docs/method.md#protocols"
    ),
]


class Optimizer(Open):
    """by one rule in every framework; see docs/method.md#protocols"""

    name: Annotated[
        Name,
        says(
            "update rule: sgd, adam, adamw, nadam, rmsprop, adagrad, or one of a plugin, whose options are "
            "its own"
        ),
    ]


class Common(Optimizer, forbid_unknown_fields=True, kw_only=True):
    """what every optimizer of the project can have"""

    clip_norm: Annotated[
        Positive, says("gradients are scaled so that the norm of all together is at most this")
    ] = ABSENT
    clip_value: Annotated[
        Positive, says("each value of a gradient is cut to at most this, and at least its negative")
    ] = ABSENT
    weight_decay: Annotated[
        Positive,
        says(
            "this times the weight is added to its clipped gradient (coupled); or decoupled, to what the "
            "learning rate multiplies"
        ),
    ] = ABSENT
    accumulate: Annotated[
        int,
        Meta(ge=2),
        says(
            "an update is taken after so many batches, by the mean of their gradients; 1 if absent"
        ),
    ] = ABSENT
    average: Annotated[
        float,
        Meta(gt=0, lt=1),
        says(
            "decay of an exponential average of the weights, which follows each update, and is what is "
            "evaluated; none if absent"
        ),
    ] = ABSENT
    decays: Annotated[
        Literal["all", "matrices"] | Annotated[list[str], Meta(min_length=1)],
        says(
            "the arrays that decay: all, those of two or more dimensions, or patterns of canonical names "
            "such as *.kernel"
        ),
    ] = "all"

    def __post_init__(self) -> None:
        """Raise `ValueError` for keys that do not go together."""
        if getattr(self, "rule", None) == "keras-2" and self.name != "nadam":
            raise ValueError("has rule keras-2, which is of nadam alone; write keras or pytorch")
        if self.clip_norm and self.clip_value:
            raise ValueError("has clip_norm and clip_value; leave one of them out")
        if self.decays != "all" and not self.weight_decay:
            raise ValueError("has decays and no weight_decay; add it, or leave both out")


class Coupled(Common, kw_only=True):
    """an optimizer whose weight decay may be decoupled by a key, not by its name"""

    decoupled: Annotated[
        bool, says("of sgd, nadam, rmsprop and adagrad: see weight_decay; adamw is so, adam is not")
    ] = False

    def __post_init__(self) -> None:
        """Raise `ValueError` for keys that do not go together."""
        super().__post_init__()
        if self.decoupled and not self.weight_decay:
            raise ValueError("is decoupled and has no weight_decay; add it, or leave both out")


class Sgd(Coupled, kw_only=True):
    """stochastic gradient descent"""

    momentum: Annotated[Fraction, says("of sgd and rmsprop; 0 for none")]
    nesterov: Annotated[bool, says("of sgd: Nesterov's momentum")] = False
    dampening: Annotated[
        Fraction, says("of sgd: each gradient but the first adds this share less to the momentum")
    ] = 0.0

    def __post_init__(self) -> None:
        """Raise `ValueError` for keys that do not go together."""
        super().__post_init__()
        if (self.nesterov or self.dampening) and not self.momentum:
            raise ValueError("has nesterov or dampening and no momentum; leave them out")
        if self.nesterov and self.dampening:
            raise ValueError("has nesterov and dampening; leave one of them out")


class Adam(Common, kw_only=True):
    """Adam"""

    beta_1: Beta1
    beta_2: Beta2
    epsilon: Epsilon
    rule: Rule = "keras"


class AdamW(Adam, kw_only=True):
    """Adam with decoupled weight decay"""

    weight_decay: Annotated[Positive, says("required of adamw")]


class Nadam(Coupled, kw_only=True):
    """Adam with Nesterov's momentum"""

    beta_1: Beta1
    beta_2: Beta2
    epsilon: Epsilon
    deduplicate: Annotated[
        bool,
        says("of nadam: add the gradients of a word that a batch repeats before they are squared"),
    ] = True
    rule: Rule = "keras"

    def __post_init__(self) -> None:
        """Raise `ValueError` for keys that do not go together."""
        super().__post_init__()
        if self.rule == "keras-2" and not self.deduplicate:
            raise ValueError(
                "has deduplicate: false, which is not of rule keras-2; leave one of them out"
            )
        changed = self.clip_norm or self.clip_value or self.weight_decay or self.accumulate
        if changed and (self.rule == "keras-2" or not self.deduplicate):
            raise ValueError(
                "has a rule for raw gradients of words (deduplicate: false, or keras-2); leave it out, or "
                "clip_norm, clip_value, weight_decay and accumulate"
            )


class Rmsprop(Coupled, kw_only=True):
    """the gradient divided by the root of a mean of its squares"""

    rho: Annotated[Fraction, says("of rmsprop: decay of the mean of squared gradients")]
    epsilon: Epsilon
    momentum: Annotated[Fraction, says("of sgd and rmsprop; 0 for none")] = 0.0
    centered: Annotated[
        bool, says("of rmsprop: the square of the mean gradient is taken off the mean square")
    ] = False
    rule: Rule = "keras"

    def __post_init__(self) -> None:
        """Raise `ValueError` for keys that do not go together."""
        super().__post_init__()
        if self.rule == "keras" and self.momentum:
            raise ValueError(
                "has momentum, which is not here by the rule of keras; write rule: pytorch"
            )


class Adagrad(Coupled, kw_only=True):
    """the gradient divided by the root of the sum of its squares"""

    initial: Annotated[float, Meta(ge=0), says("of adagrad: the sum of squares at the beginning")]
    epsilon: Epsilon
    rule: Rule = "keras"


# The keys of the project's optimizers; a plugin's may have any.
OPTIMIZERS = {
    "sgd": Sgd,
    "adam": Adam,
    "adamw": AdamW,
    "nadam": Nadam,
    "rmsprop": Rmsprop,
    "adagrad": Adagrad,
}


class Decay(Closed):
    """one step down"""

    after: Annotated[Count, says("units after which this step holds")]
    factor: Annotated[Positive, says("the rate is base x factor")]


class Warmup(Closed):
    """a linear rise to the base; none if absent"""

    length: Annotated[Count, says("units of the rise")]
    start: Annotated[
        float,
        Meta(ge=0, lt=1),
        says("factor of the first rate; 1 / (length + 1) if absent"),
    ] = ABSENT


class Schedule(Closed):
    """the shape of the rate after the warm-up; constant if absent"""

    name: Annotated[Shape, says("the shape; its formula is in docs/method.md#protocols")]
    over: Annotated[
        Count, says("units from the beginning of the run to the end of the shape; all if absent")
    ] = ABSENT
    end: Annotated[
        float,
        Meta(ge=0),
        says("of linear, cosine, polynomial and one-cycle: factor at the end; 0 if absent"),
    ] = ABSENT
    power: Annotated[Positive, says("of polynomial: exponent of the share that is left")] = ABSENT
    rate: Annotated[Positive, says("of exponential: factor of each unit")] = ABSENT
    rise: Annotated[
        float, Meta(gt=0, lt=1), says("of one-cycle: share of the rise; 0.3 if absent")
    ] = ABSENT
    start: Annotated[
        float, Meta(ge=0, lt=1), says("of one-cycle: factor at the beginning; 0.04 if absent")
    ] = ABSENT

    def __post_init__(self) -> None:
        """Raise `ValueError` for a key that the shape lacks, or has no use for."""
        needed, possible = SHAPES[self.name]
        for key in ("over", "end", "power", "rate", "rise", "start"):
            given = getattr(self, key) is not None
            if key == needed and not given:
                raise ValueError(f"has no {key}, which {self.name} needs; add it")
            if given and key not in (needed, *possible):
                raise ValueError(f"has {key}, for which {self.name} has no use; leave it out")


# By shape: the key that it needs, and those that it may have.
SHAPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "linear": ("", ("over", "end")),
    "cosine": ("", ("over", "end")),
    "polynomial": ("power", ("over", "end")),
    "exponential": ("rate", ()),
    "one-cycle": ("", ("over", "end", "rise", "start")),
    "inverse-square-root": ("", ()),
}


class LearningRate(Closed):
    """the schedule; the rate of a step is base x factor of the warm-up, or of the shape, x factor of decay"""

    base: Annotated[Positive, says("rate before scaling and schedule")]
    per_batch: Annotated[
        Count, says("the rate is base x global batch / per_batch; base itself if absent")
    ] = ABSENT
    decay: Annotated[list[Decay], says("steps down; none if absent")] = ABSENT
    unit: Annotated[Unit, says("what lengths are counted in, and how often the rate changes")] = (
        "epoch"
    )
    each_step: Annotated[
        bool, says("with unit epoch: change the rate at each step, by fractions of an epoch")
    ] = False
    warmup: Warmup = ABSENT
    schedule: Schedule = ABSENT

    def __post_init__(self) -> None:
        """Raise `ValueError` for keys that do not go together."""
        if self.each_step and self.unit == "step":
            raise ValueError(
                "has each_step and the unit step, which changes the rate at each step anyway"
            )
        over = self.schedule.over if self.schedule else None
        if over and self.warmup and over <= self.warmup.length:
            raise ValueError("has a schedule that is over before its warmup; make `over` longer")


class Target(Closed, kw_only=True):
    """quality target, one metric of the task; none if absent"""

    accuracy: Annotated[float, Meta(gt=0, le=1), says("test accuracy, as a fraction, or more")] = (
        ABSENT
    )
    r2: Annotated[float, Meta(lt=1), says("R² of the test split, or more")] = ABSENT
    mae: Annotated[Positive, says("mean absolute error of the test split, or less")] = ABSENT
    perplexity: Annotated[float, Meta(gt=1), says("test perplexity, or less")] = ABSENT
    loss: Annotated[Positive, says("test loss, or less")] = ABSENT
    patience: Annotated[Count, says("consecutive evaluations that reach it")]
    stop: Annotated[bool, says("end the run when it is reached")]


class Task(Closed):
    """what is learned, and how it is scored; classification if absent; see docs/method.md#tasks"""

    name: Annotated[
        TaskName,
        says(
            "classification: of each example, or of each of its words or pixels; regression: of one "
            "number or several; language-modeling: of the next token"
        ),
    ]
    quality: Annotated[
        MetricName,
        says(
            "the metric by which variants are compared; if absent accuracy, r2 or perplexity, in this order"
        ),
    ] = ABSENT


class Workload(Closed, kw_only=True):
    """data set, model, optimizer and schedule, by name; the same for every framework"""

    dataset: Annotated[
        str,
        Meta(pattern="^(tfds/)?[a-z][a-z0-9_]*$"),
        says("one of datasets, or tfds/<builder>"),
    ]
    model: Model
    train_examples: Annotated[Count, says("train on the first so many examples; all if absent")] = (
        ABSENT
    )
    initializer: Annotated[
        Initializer,
        says(
            "rule by which initial weights are drawn; xavier: kernels as keras, the rest as pytorch; gpt-2: "
            "small normal values, smaller where blocks add to their input; imagenet: "
            "the file of data.pretrained, or keras where it cannot be found"
        ),
    ]
    task: Task = ABSENT
    loss: Annotated[
        Loss,
        says(
            "of classification; double_softmax: probabilities given to a loss that expects logits, as "
            "one source has it"
        ),
    ] = "cross_entropy"
    shuffle: Annotated[
        Shuffle,
        says(
            "once: every epoch has the order of the first; with_replacement: each batch is drawn from all "
            "examples, and steps_per_epoch says after how many steps there is an evaluation"
        ),
    ] = "each_epoch"
    shuffle_buffer: Annotated[
        Count,
        says(
            "each next example is drawn from a buffer of so many, which the following one refills, as "
            "tf.data does; from all examples if absent"
        ),
    ] = ABSENT
    partial_batch: Annotated[
        PartialBatch,
        says("whether the examples that are left after the last whole batch are a batch, too"),
    ] = "drop"
    augmentation: Augmentation = ABSENT
    evaluation: Evaluation = ABSENT
    input: Input = ABSENT
    optimizer: Optimizer
    learning_rate: LearningRate
    global_batch: Annotated[
        Count, says("examples of all replicas per step; this or per_replica_batch")
    ] = ABSENT
    per_replica_batch: Annotated[
        Count, says("examples per replica and step; this or global_batch")
    ] = ABSENT
    epochs: Annotated[Count, says("passes over the training examples")]
    steps_per_epoch: Annotated[Count | None, says("null or absent: all batches")] = None
    precision: Annotated[
        Precision,
        says(
            "of weights and arithmetic; bfloat16 is of the layers' arithmetic alone (mixed precision)"
        ),
    ] = "float32"
    target: Target = ABSENT

    def __post_init__(self) -> None:
        """Raise `ValueError` for a model that the published weights do not fit."""
        if self.initializer == "imagenet" and self.model.name != "mobilenet-v2":
            raise ValueError('has initializer "imagenet"; its model must be "mobilenet-v2"')


class Cell(Closed, kw_only=True):
    """each row is the product of its lists; each combination is a cell"""

    workload: Annotated[Name, says("instead of the experiment's")] = ABSENT
    # No patterns here: msgspec 0.22 crashes on a union of a text with a pattern and something else.
    backend: Annotated[
        Text | Annotated[list[Text], Meta(min_length=1)], says("one of backends, or several")
    ]
    replicas: Annotated[Count | Sizes, says("copies of the model, or several numbers of them")]
    epochs: Annotated[Count, says("instead of the experiment's")] = ABSENT
    steps_per_epoch: Annotated[
        Count | None, says("instead of the experiment's; null: all batches")
    ] = None
    target: Annotated[Target, says("instead of the experiment's")] = ABSENT
    workers: Annotated[
        Count, says("processes; if absent what the strategy has: one, or one per replica")
    ] = ABSENT
    global_batch: Annotated[
        Count | Sizes, says("instead of the experiment's batch size, or several")
    ] = ABSENT
    per_replica_batch: Annotated[
        Count | Sizes, says("instead of the experiment's batch size, or several")
    ] = ABSENT
    precision: Annotated[
        Precision | Annotated[list[Precision], Meta(min_length=1)],
        says("instead of the workload's, or several"),
    ] = ABSENT
    tuning: Annotated[
        Tuning | Annotated[list[Tuning], Meta(min_length=1)],
        says("as-installed if absent; tuned needs the backend's `tuned`; or both"),
    ] = ABSENT


class Section(Closed):
    """a part of the page"""

    title: Annotated[Text, says("title of its figures and tables")]
    figures: Annotated[list[str], says("names of figures, drawn to <results>/figures/<section>/")]
    tables: Annotated[list[str], says("names of tables, written to <results>/tables/<section>/")]
    published: Annotated[
        str,
        says(
            "experiment of a paper's numbers.csv that it is compared with; empty for none, and if absent "
            "what the paper's experiment of this name has"
        ),
    ] = ""


class Experiment(Section, kw_only=True):
    """questions, by name; each is a matrix of runs and the figures and tables that answer it"""

    workload: Annotated[Name, says("one of workloads")]
    global_batch: Annotated[Count, says("instead of the workload's batch size")] = ABSENT
    per_replica_batch: Annotated[Count, says("instead of the workload's batch size")] = ABSENT
    epochs: Annotated[Count, says("instead of the workload's")] = ABSENT
    steps_per_epoch: Annotated[
        Count | None, says("instead of the workload's; null: all batches")
    ] = None
    train_examples: Annotated[Count, says("instead of the workload's")] = ABSENT
    target: Annotated[Target, says("instead of the workload's")] = ABSENT
    repeats: Annotated[Count, says("runs of each cell, which differ by seed")] = 1
    contests: Annotated[
        int,
        Meta(ge=0),
        says(
            "contests at most of the variants that do the same work: all alive at once, timed in turn, until "
            "every pair is decided; see docs/method.md#contests"
        ),
    ] = 0
    matrix: Annotated[
        list[Cell],
        Meta(min_length=1),
        says("each row is the product of its lists; each combination is a cell"),
    ]


class Matmul(Section, kw_only=True):
    """matrix products; the fastest square one of a device and precision is the peak of FLOP shares"""

    backends: Annotated[Names, says("backends to measure, one device each")]
    products: Annotated[
        list[Annotated[list[Count], Meta(min_length=3, max_length=3)]],
        says("(m, k) @ (k, n) as [m, k, n], in float32 as published"),
    ]
    squares: Annotated[Sizes, says("sizes n of square products (n, n) @ (n, n) on CPUs")]
    accelerator_squares: Annotated[
        Sizes, says("likewise on GPUs and TPUs, which small products do not fill")
    ]
    precisions: Annotated[
        list[Literal["float32", "bfloat16", "float16", "float64"]],
        Meta(min_length=1),
        says("of the operands of square products"),
    ]
    repeats: Annotated[Count, says("timed runs of each product")]


class AcceleratorReference(Section):
    """published tables of accelerators, with this machine's measured peak"""


class Margin(Closed):
    """differences that do not matter, fixed beforehand, by metric"""

    kind: Annotated[
        Literal["share", "ratio"],
        says("a share of the way from chance to the best, or a ratio above 1"),
    ]
    margin: Annotated[Positive, says("the share, or the ratio")]

    def of(self, reach: float) -> float:
        """The margin of an outcome that learning moves by `reach` from chance to the best, or not at all."""
        return self.margin * max(reach, 0.0)


class Reduced(Closed):
    """what is cut down of the papers' workloads and experiments"""

    workloads: Annotated[dict[Name, dict[str, Any]], says("keys of workloads")] = {}
    experiments: Annotated[dict[Word, dict[str, Any]], says("keys of experiments")] = {}


class Given(Closed):
    """what there are records of, for an experiment that is drawn from records alone"""

    runs: list[str]
    contests: list[str]


class Config(Closed):
    """config.yaml"""

    pathvars: Pathvars
    plugins: Annotated[
        list[Text],
        says(
            "folders, relative to the working directory, with models, engines, forms of data, optimizers and "
            "figures of your own; see docs/extending.md"
        ),
    ]
    papers: Annotated[
        list[Text],
        says(
            "published sources whose experiments are added: folders of papers/ by name, or paths of others; "
            "see docs/extending.md#a-paper"
        ),
    ]
    only: Annotated[
        list[str],
        says(
            "names of experiments: all others are left out; the first is the primary question, unless that "
            "is among them; [] for all"
        ),
    ]
    frameworks: Annotated[
        list[Literal["tensorflow", "torch", "torch-xla", "jax"]],
        says(
            "backends of other frameworks, and experiments that have no other, are left out; [] for all"
        ),
    ]
    data: Data
    datasets: dict[Word, Dataset]
    seed: Annotated[
        int,
        Meta(ge=0, le=2147483647),
        says("repeat k of every experiment uses seed + k on every backend"),
    ]
    speed_window: SpeedWindow
    contest: Contest
    primary: Primary
    baseline: Annotated[str, says("backend that the figure `ways` compares all others with")]
    deterministic: Annotated[bool, says("bit-equal repetition where the framework offers it")]
    budget: Annotated[
        str,
        Meta(pattern="^([0-9.]+(min|h))?$"),
        says("time for contests, of `snakemake plan`: 90min or 8h, say; empty for none"),
    ]
    records_only: Annotated[
        bool | dict[str, Given],
        says(
            "draw from existing records; fetch, train and measure nothing. A mapping names the runs and "
            "contests of each experiment"
        ),
    ]
    backends: dict[Name, Backend]
    workloads: dict[Name, Workload]
    experiments: Annotated[dict[Word, Experiment], Meta(min_length=1)]
    reduced: Annotated[
        Reduced | None,
        says(
            "what is cut down of the papers: under workloads and experiments, by name, the keys that differ; "
            "null for nothing"
        ),
    ]
    margins: dict[str, Margin]
    matmul: Matmul
    accelerator_reference: AcceleratorReference
