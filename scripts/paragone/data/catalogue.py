"""What is known of each data set before a byte of it is read."""

from dataclasses import dataclass, field

from paragone.base.errors import UserError


@dataclass(frozen=True)
class Entry:
    """Facts of one data set.

    `address`: where the edition "official" is published; `inputs`: "images" or "sequences";
    `examples`: train and test examples of the synthetic stand-in (a real edition brings its own
    counts); `parameters`: the keys of the config's `data` block that shape its arrays.
    """

    address: str
    class_names: tuple[str, ...]
    licence: str
    homepage: str
    citation: str
    inputs: str
    examples: tuple[int, int]
    parameters: tuple[str, ...] = field(default=())
    split: str = "official"


FASHION_CLASSES = (
    "T-shirt/top, Trouser, Pullover, Dress, Coat, Sandal, Shirt, Sneaker, Bag, Ankle boot"
)

REUTERS_TOPICS = """
    cocoa grain veg-oil earn acq wheat copper housing money-supply coffee sugar trade reserves
    ship cotton carcass crude nat-gas cpi money-fx interest gnp meal-feed alum oilseed gold tin
    strategic-metal livestock retail ipi iron-steel rubber heat jobs lei bop zinc orange
    pet-chem dlr gas silver wpi hog lead
"""

DATASETS = {
    "fashion_mnist": Entry(
        address="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        class_names=tuple(FASHION_CLASSES.split(", ")),
        licence="MIT",
        homepage="https://github.com/zalandoresearch/fashion-mnist",
        citation="Xiao, Rasul, Vollgraf: Fashion-MNIST, arXiv:1708.07747 (2017)",
        inputs="images",
        examples=(60_000, 10_000),
    ),
    "cats_vs_dogs": Entry(
        address=(
            "https://download.microsoft.com/download/3/E/1/3E1C3F21-ECDB-4869-8368-6DEBA77B919F"
        ),
        class_names=("cat", "dog"),
        licence="Microsoft Research terms of use, research only",
        homepage="https://www.microsoft.com/en-us/download/details.aspx?id=54765",
        citation="Elson, Douceur, Howell, Saul: Asirra, ACM CCS (2007)",
        inputs="images",
        examples=(1_602, 400),
        parameters=("image_size",),
        split="the set has no test split: 80 % train, 20 % test, in the order of a Philox "
        "permutation of the sorted file names",
    ),
    "reuters": Entry(
        address="https://storage.googleapis.com/tensorflow/tf-keras-datasets",
        class_names=tuple(REUTERS_TOPICS.split()),
        licence="Reuters-21578, free for research",
        homepage="https://keras.io/api/datasets/reuters/",
        citation="Lewis: Reuters-21578 text categorization test collection (1997)",
        inputs="sequences",
        examples=(8_982, 2_246),
        parameters=("sequence_length",),
        split="Keras: seed 113, last 20 % test",
    ),
}


def entry(dataset: str) -> Entry:
    """The facts of `dataset`; raises UserError for a name that is not in the catalogue."""
    try:
        return DATASETS[dataset]
    except KeyError:
        known = ", ".join(DATASETS)
        raise UserError(f"there is no data set {dataset!r}; known: {known}") from None
