"""The config's `data` block: closed schema, and checksums that agree with the publishers'."""

import copy

import jsonschema
import pytest
import tensorflow_datasets as tfds
import yaml
from data_programs import CONFIG_DATA, ROOT

SCHEMA = yaml.safe_load((ROOT / "rules/schemas/data_config.schema.yaml").read_text())


def test_the_default_block_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(CONFIG_DATA, SCHEMA)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["mirror"], ["a misspelt key"]),
        (["source"], "fake"),
        (["mirrors"], "not a list"),
        (["image_size"], "224"),
        (["image_size"], 0),
        (["sequence_length"], -1),
        (["editions", "mnist"], {"official": {"a.gz": "0" * 64}}),
        (["editions", "reuters", "synthetic"], {"reuters.npz": "0" * 64}),
        (["editions", "reuters", "official", "reuters.npz"], "not a checksum"),
        (["editions", "reuters", "official", "second.npz"], "0" * 64),
        (["editions", "fashion_mnist", "official"], {"train-images-idx3-ubyte.gz": "0" * 64}),
    ],
)
def test_impossible_values_are_refused(path, value):
    data = copy.deepcopy(CONFIG_DATA)
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)


@pytest.mark.parametrize("dataset", ["fashion_mnist", "cats_vs_dogs"])
def test_official_checksums_are_those_of_tensorflow_datasets(dataset):
    registered = tfds.builder_cls(dataset).url_infos.values()
    assert CONFIG_DATA["editions"][dataset]["official"] == {
        info.filename: info.checksum for info in registered
    }
