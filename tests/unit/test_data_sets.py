"""The data sets of the config: the official files, byte by byte, once for all; and their stand-ins."""

import gzip
import io
import json
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from data_programs import DATASETS, fetch, prepare, serialize
from PIL import Image
from workspace import command, refusing, succeed

from paragone.data import Dataset, load


def loaded(folder: Path) -> Dataset:
    return load(folder / "results/manifest.json", folder / "data")


def test_arrays_are_the_official_files_in_their_order(fashion, mirror):
    dataset = load(fashion.manifest, fashion.folder)
    for split, prefix in (("train", "train"), ("test", "t10k")):
        images, labels = (
            gzip.decompress((mirror / f"fashion_mnist/{prefix}-{kind}-ubyte.gz").read_bytes())
            for kind in ("images-idx3", "labels-idx1")
        )
        images = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 28, 28, 1)
        labels = np.frombuffer(labels, np.uint8, offset=8)
        assert np.array_equal(getattr(dataset, f"{split}_inputs"), images)
        assert np.array_equal(getattr(dataset, f"{split}_labels"), labels)
    assert (dataset.name, dataset.source, dataset.edition) == ("fashion_mnist", "real", "official")
    assert (dataset.class_names[9], dataset.vocabulary) == ("Ankle boot", None)
    text = fashion.manifest.read_text()
    assert str(fashion.folder) not in text  # no path of this machine
    assert json.loads(text)["licence"] == "MIT"


def test_damaged_array_is_one_clear_error_whose_remedy_works(fashion, tmp_path, mirror):
    """Delete the named folder and run again: the store is repaired."""
    stored = json.loads(fashion.manifest.read_text())["folder"]
    shutil.copytree(fashion.folder / stored, tmp_path / "data" / stored)
    shutil.copytree(fashion.manifest.parent, tmp_path / "results")
    array = tmp_path / "data" / stored / "test_inputs.npy"
    content = array.read_bytes()
    array.unlink()
    with refusing("delete the folder", str(array)):
        loaded(tmp_path)
    array.write_bytes(content[:-1])
    with refusing("delete the folder", str(tmp_path / "results")):
        loaded(tmp_path)
    shutil.rmtree(tmp_path / "results")
    prepare("fashion_mnist", tmp_path / "results", tmp_path / "data", environment=str(mirror))
    assert loaded(tmp_path).test_inputs.shape == (10_000, 28, 28, 1)


def test_file_that_changes_after_its_check_is_not_used(mirror, tmp_path):
    copy = tmp_path / "mirror/fashion_mnist"
    shutil.copytree(mirror / "fashion_mnist", copy, copy_function=shutil.copyfile)
    assert fetch("fashion_mnist", tmp_path, tmp_path / "data", str(copy.parent)).returncode == 0
    labels = copy / "t10k-labels-idx1-ubyte.gz"
    labels.write_bytes(labels.read_bytes()[:-1] + b"x")
    done = serialize(tmp_path, tmp_path / "data")
    assert done.returncode == 1
    assert "error: fashion_mnist changed after its check" in done.stderr
    assert not list(tmp_path.glob("data/arrays/*"))
    assert not (tmp_path / "manifest.json").exists()


def test_images_are_those_of_the_files(mirror, tmp_path):
    """The first image of each split, at its place in the documented split."""
    prepare("cats_vs_dogs", tmp_path / "results", tmp_path / "data", str(mirror), {"size": 64})
    cats = loaded(tmp_path)
    assert cats.train_inputs.shape == (1_601, 64, 64, 3)
    assert cats.test_inputs.shape == (401, 64, 64, 3)
    labels = np.concatenate([cats.train_labels, cats.test_labels])
    assert np.bincount(labels).tolist() == [1_001, 1_001]
    (name,) = DATASETS["cats_vs_dogs"]["editions"]["subset-2002"]
    with zipfile.ZipFile(mirror / "cats_vs_dogs" / name) as archive:
        files = np.array(sorted(path for path in archive.namelist() if path.endswith(".jpg")))
        order = np.random.Generator(np.random.Philox(key=8020)).permutation(len(files))
        for inputs, labels, file in (
            (cats.train_inputs, cats.train_labels, files[order[0]]),
            (cats.test_inputs, cats.test_labels, files[order[1_601]]),
        ):
            assert cats.class_names[labels[0]] == Path(file).parent.name.lower()
            image = Image.open(io.BytesIO(archive.read(file))).convert("RGB")
            # Plain bilinear sampling without anti-aliasing, as tf.image.resize.
            pixels = torch.from_numpy(np.array(image, np.float32)).permute(2, 0, 1)[None]
            (expected,) = torch.nn.functional.interpolate(pixels, (64, 64), mode="bilinear")
            # The builder encodes each image once more, at quality 95.
            assert np.abs(inputs[0] - expected.permute(1, 2, 0).numpy()).mean() < 4


def test_texts_are_those_of_keras(mirror, tmp_path):
    """By the recipe of keras.datasets.reuters.load_data, which downloads its file, written out anew.

    Order, marks and padding are as keras.utils.pad_sequences makes them by default. The vocabulary covers
    both splits, and the words of texts that were cut, which the published program counts.
    """
    prepare("reuters", tmp_path / "results", tmp_path / "data", environment=str(mirror))
    reuters = loaded(tmp_path)
    with np.load(mirror / "reuters/reuters.npz", allow_pickle=True) as file:
        texts, labels = file["x"], file["y"]
    order = np.arange(len(texts))
    np.random.RandomState(113).shuffle(order)
    texts = [[1] + [word + 3 for word in texts[index]] for index in order]
    highest = max(max(text) for text in texts)
    texts = [[word if 0 <= word < highest else 2 for word in text] for text in texts]
    ours = np.concatenate([reuters.train_labels, reuters.test_labels])
    assert np.array_equal(ours, labels[order])
    assert len(reuters.train_labels) == int(len(texts) * (1 - 0.2))
    padded = [[0] * (300 - len(text)) + text[-300:] for text in texts]
    assert np.array_equal(np.concatenate([reuters.train_inputs, reuters.test_inputs]), padded)
    assert reuters.vocabulary == max(max(text) for text in texts) + 1 == 30_982
    assert (reuters.edition, reuters.class_names[3:5]) == ("official", ("earn", "acq"))


SHAPES = {
    "fashion_mnist": ((60_000, 28, 28, 1), (10_000, 28, 28, 1), np.uint8),
    "cats_vs_dogs": ((1_602, 32, 32, 3), (400, 32, 32, 3), np.uint8),
    "reuters": ((8_982, 300), (2_246, 300), np.int32),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_stand_in_has_the_shapes_of_the_real_set(stand_ins, tmp_path, name):
    """It has equal bytes each time. That it can be learned: pipeline/test_smoke.py without real data."""
    smaller = {"size": 32} if name == "cats_vs_dogs" else None
    prepare(name, tmp_path, tmp_path / "data", block=smaller, source="synthetic")
    dataset = load(tmp_path / "manifest.json", tmp_path / "data")
    if name in stand_ins:  # the manifest has the digests of the arrays
        before = load(stand_ins[name].manifest, stand_ins[name].folder)
        assert before.manifest_sha256 == dataset.manifest_sha256
    train, test, dtype = SHAPES[name]
    assert (dataset.train_inputs.shape, dataset.test_inputs.shape) == (train, test)
    assert dataset.train_inputs.dtype == dataset.test_inputs.dtype == dtype
    assert set(np.unique(dataset.train_labels)) == set(range(len(DATASETS[name]["classes"])))
    if name == "reuters":
        assert dataset.vocabulary == 30_982
        assert max(dataset.train_inputs.max(), dataset.test_inputs.max()) < dataset.vocabulary


def test_two_processes_fill_a_store_once(tmp_path):
    """Both succeed with the same manifest, and nothing half-built is left."""
    data = tmp_path / "data"
    assert fetch("reuters", tmp_path, data, source="synthetic").returncode == 0
    options = {"source": tmp_path / "source.json", "folder": data}
    outputs = [tmp_path / "first.json", tmp_path / "second.json"]
    with ThreadPoolExecutor(2) as pool:
        [*pool.map(succeed, [command("serialize", manifest=path, **options) for path in outputs])]
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    (arrays,) = (data / "arrays").iterdir()
    assert not arrays.name.startswith(".")
