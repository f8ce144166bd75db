"""The keys of data sets, by form. docs/configuration.md is made from them."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from paragone.base.typed_json import ABSENT, Count
from paragone.config.key_types import Closed, Files, Sizes, Text, Word


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


class PublishedOrOwn(DatasetBlock, forbid_unknown_fields=True, kw_only=True):
    """Files that are published, or the user's

    address: where the files of the edition `official` are published
    editions: edition -> file -> SHA-256; the first edition that is found is used
    """

    path: Place = ABSENT
    address: Address = ABSENT
    editions: Editions = ABSENT

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.path) == bool(self.editions):
            raise ValueError("has path and editions, or neither; write one of them")


class Idx(PublishedOrOwn, kw_only=True):
    """Files of idx, as those of MNIST, Fashion-MNIST, EMNIST and KMNIST, packed by gzip or not

    path: folder of the files, relative to the working directory; or one for train, one for test;
        this or editions
    inputs: name of the file of images; or one for train, one for test; if absent, those with
        `images` and with `train`, `t10k` or `test` in their names
    labels: name of the file of labels; or one for train, one for test; if absent, likewise
    """

    inputs: Text | OfSplit = ABSENT
    labels: Text | OfSplit = ABSENT


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


class Stream(PublishedOrOwn, kw_only=True):
    """A text, or tokens, as one stream, of which the end is held out; examples are windows of it

    held_out: fraction at its end, held out for testing
    path: the file, relative to the working directory; this or editions
    mirror: its folder in a mirror; the data set's name if absent
    unit: what a token is; tokens: numbers in a .npy file, or in a .bin file of 16 bits
        each, or with the header of llm.c
    length: tokens of a window
    """

    held_out: Annotated[float, Meta(gt=0, lt=1)]
    path: Text = ABSENT
    mirror: Word = ABSENT
    unit: Literal["characters", "bytes", "words", "tokens"] = "characters"
    length: Annotated[int, Meta(ge=1)]


# The keys of the project's forms; a plugin's may have any.
FORMS = {"tfds": Tfds, "folder": Folder, "arrays": Arrays, "table": TableFile, "stream": Stream}
FORMS["idx"] = Idx
