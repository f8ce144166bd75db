"""The config's blocks `data` and `datasets`: closed blocks, checksums that agree with the publishers'."""

import copy
from types import SimpleNamespace
from typing import cast

import pytest
import tensorflow_datasets as tfds
from data_programs import CONFIG_DATA, DATASETS
from workspace import CONFIG, make_spec

from paragone.base.errors import UserError
from paragone.config.validate import validate
from paragone.data import Dataset
from paragone.models import create_model

BLOCKS = {"data": CONFIG_DATA, "datasets": DATASETS}
MINE = {"form": "arrays", "path": "mine.npz", "held_out": 0.2}


@pytest.mark.parametrize(
    "block",
    [
        {"form": "tfds", "builder": "cifar10", "split": {"train": "train", "test": "test[:50%]"}},
        {"form": "folder", "path": {"train": "a", "test": "b"}, "size": 32, "channels": 1},
        MINE | {"inputs": "x", "labels": "y", "classes": ["no", "yes"]},
        {"form": "table", "path": "a.csv", "held_out": 0.1, "words": 50, "length": 8},
        {"form": "of_a_plugin", "anything": [1, 2]},
    ],
    ids=lambda block: block["form"],
)
def test_forms_of_data(block):
    validate({**CONFIG, "records_only": True, "datasets": DATASETS | {"mine": block}})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["data", "mirror"], ["a misspelt key"]),
        (["data", "source"], "fake"),
        (["data", "mirrors"], "not a list"),
        (["data", "lock"], ""),
        (["datasets", "cats_vs_dogs", "size"], "224"),
        (["datasets", "cats_vs_dogs", "size"], 0),
        (["datasets", "cats_vs_dogs", "held_out"], 1),
        (["datasets", "reuters", "length"], -1),
        (["datasets", "reuters", "path"], "of another form"),
        (["datasets", "Mine"], MINE),
        (["datasets", "mine"], {"path": "no form"}),
        (["datasets", "mine"], MINE | {"size": 32}),
        (["datasets", "mine"], MINE | {"path": {"train": "no test"}}),
        (["datasets", "mine"], {"form": "folder", "path": "no-size"}),
        (["datasets", "reuters", "editions", "synthetic"], {"reuters.npz": "0" * 64}),
        (["datasets", "reuters", "editions", "official", "reuters.npz"], "not a checksum"),
    ],
)
def test_impossible_values_are_refused(path, value):
    blocks = copy.deepcopy(BLOCKS)
    at = blocks
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(UserError, match=rf"^{path[0]}"):
        validate({**CONFIG, **blocks})


@pytest.mark.parametrize("dataset", ["fashion_mnist", "cats_vs_dogs"])
def test_official_checksums_are_those_of_tensorflow_datasets(dataset):
    registered = tfds.builder_cls(dataset).url_infos.values()
    assert DATASETS[dataset]["editions"]["official"] == {
        info.filename: info.checksum for info in registered
    }


@pytest.mark.parametrize(
    ("workload", "vocabulary", "words"),
    [
        (
            "reuters-cnn",
            None,
            "workloads.reuters-cnn.input: is missing, and data set mine holds numbers",
        ),
        ("fashion-cnn", 100, "workloads.fashion-cnn.input: data set mine holds indices of words"),
    ],
)
def test_numbers_are_scaled_and_words_are_not(workload, vocabulary, words):
    mine = SimpleNamespace(name="mine", vocabulary=vocabulary)
    with pytest.raises(UserError, match=words):
        create_model({}, make_spec(workload, "torch"), cast(Dataset, mine))
