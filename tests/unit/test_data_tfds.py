"""Any builder of TensorFlow Datasets, by its name alone."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow_datasets as tfds
from data_programs import CONFIG_DATA, DATASETS, prepare
from workspace import refusing

from paragone.base.atomic_files import sha256
from paragone.base.errors import UserError
from paragone.data import load, locate, serializer
from paragone.data.forms import tfds as form

pytestmark = pytest.mark.full  # the smoke run prepares what the built-in blocks need
FASHION = {
    "form": "tfds",
    "builder": "fashion_mnist",
    "split": {"train": "train[:100]", "test": "test[:50]"},
}


@pytest.fixture(scope="module")
def prepared(mirror, tmp_path_factory) -> Path:
    """A data folder with prepared examples, which other blocks read as well.

    results/ is of a block of 150 images, by_name/ of the builder's name alone.
    """
    folder = tmp_path_factory.mktemp("tfds")
    prepare("small", folder / "results", folder / "data", str(mirror), FASHION)
    prepare("tfds/fashion_mnist", folder / "by_name", folder / "data", str(mirror))
    return folder


def test_fashion_mnist_by_name_gives_the_arrays_of_its_block(prepared, fashion):
    """Bit for bit, in the order of the files; only class names differ, which are the builder's numbers."""
    data = prepared / "data"
    by_name = load(prepared / "by_name/manifest.json", data)
    built_in = load(fashion.manifest, fashion.folder)
    for name in ("train_inputs", "train_labels", "test_inputs", "test_labels"):
        assert np.array_equal(getattr(by_name, name), getattr(built_in, name))
    assert by_name.edition == built_in.edition == "official"


def again(prepared: Path, mirror: Path, **changes: object) -> Path:
    """The manifest with other options. Raises `UserError`."""
    settings = CONFIG_DATA | {"folder": str(prepared / "data")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PARAGONE_MIRRORS", str(mirror))
        source = json.loads(json.dumps(locate.find("mine", FASHION | changes, settings)))
        return serializer.serialize(source, prepared / "data")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"split": "tests"}, ["datasets.mine.split", "tests", "train"]),
        ({"held_out": 0.2}, ["datasets.mine.held_out", "leave it out"]),
        ({"input": "picture"}, ["datasets.mine.input", "'picture'", "image, label"]),
        ({"label": "image"}, ["datasets.mine.label", "no class label"]),
        ({"version": "99.0.0"}, ["datasets.mine", "99.0.0"]),
        ({"builder": "fashion_minst"}, ["datasets.mine.builder", "fashion_minst"]),
    ],
    ids=str,
)
def test_options_that_the_builder_does_not_have(prepared, mirror, changes, words):
    with refusing(*words):
        again(prepared, mirror, **changes)


def test_damaged_examples_are_removed_and_prepared_again(prepared, tmp_path, mirror):
    copy = tmp_path / "copy"
    shutil.copytree(prepared, copy)
    (record,) = (copy / "data/tfds").rglob("*train.tfrecord*")
    content = bytearray(record.read_bytes())
    content[5000] ^= 1
    record.write_bytes(content)
    with pytest.raises(UserError, match=f"{record.parent} was damaged and is removed; run again"):
        again(copy, mirror, size=10)
    dataset = load(again(copy, mirror, size=10), copy / "data")
    assert dataset.train_inputs.shape == (100, 10, 10, 1)


class Rows(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """Texts and numbers, with labels that depend on each of them."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self) -> tfds.core.DatasetInfo:
        features = {
            "text": tfds.features.Text(),
            "measures": tfds.features.Tensor(shape=(3,), dtype=np.float64),
            "label": tfds.features.ClassLabel(names=["few", "many"]),
        }
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict:
        (url,) = self.url_infos
        return {"train": self._generate_examples(Path(dl_manager.download(url)))}

    def _generate_examples(self, path: Path) -> Iterator:
        yield from enumerate(json.loads(path.read_text()))


@pytest.mark.parametrize(
    ("options", "shape", "dtype"),
    [({"input": "text", "length": 8}, (8,), np.int32), ({"input": "measures"}, (3,), np.float32)],
)
def test_a_builder_of_other_things_than_images(tmp_path, monkeypatch, options, shape, dtype):
    monkeypatch.setattr(form, "builder_class", lambda *_: Rows)
    examples = []
    for at in range(40):
        about = {"measures": [at, 0.5, -at], "label": int(at % 5 > 2)}
        examples.append({"text": "good " * (1 + at % 5), **about})
    file = tmp_path / "mirror/rows/rows.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(examples))
    block = {"form": "tfds", "builder": "rows", "label": "label", "held_out": 0.25, **options}
    block["editions"] = {"mine": {file.name: sha256(file)}}
    prepare("mine", tmp_path, tmp_path / "data", str(file.parents[1]), block)
    dataset = load(tmp_path / "manifest.json", tmp_path / "data")
    assert (len(dataset.train_labels), len(dataset.test_labels)) == (30, 10)
    assert (dataset.train_inputs.shape[1:], dataset.train_inputs.dtype) == (shape, dtype)
    texts = dataset.vocabulary is not None
    for split in ("train", "test"):
        inputs = getattr(dataset, f"{split}_inputs")
        # 1 marks the start of a text.
        many = (inputs > 1).sum(1) > 3 if texts else inputs[:, 0] % 5 > 2
        assert np.array_equal(getattr(dataset, f"{split}_labels"), many)


@pytest.mark.parametrize("dataset", ["fashion_mnist", "cats_vs_dogs"])
def test_official_checksums_are_those_of_tensorflow_datasets(dataset):
    registered = tfds.builder_cls(dataset).url_infos.values()
    assert DATASETS[dataset]["editions"]["official"] == {
        info.filename: info.checksum for info in registered
    }
