"""Fashion-MNIST from the official files: right bytes, right order, and no work done twice."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from data_programs import fetch, lock_of, prepare, serialize
from workspace import call, command

from paragone.base.errors import UserError
from paragone.data import Dataset, load


@pytest.fixture(scope="module")
def prepared(mirror, fashion) -> Path:
    """A folder with a filled store in data/, from the real files, and the two JSON files in results/."""
    return fashion.folder.with_name("copy")


def loaded(folder: Path) -> Dataset:
    return load(folder / "results/manifest.json", folder / "data")


def test_arrays_are_the_official_files_in_their_order(prepared, mirror):
    dataset = loaded(prepared)
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
    assert (dataset.train_inputs.dtype, dataset.train_labels.dtype) == (np.uint8, np.int32)
    assert (dataset.class_names[9], dataset.vocabulary) == ("Ankle boot", None)
    with pytest.raises(ValueError, match="read-only"):
        dataset.train_inputs[0] = 0
    text = (prepared / "results/manifest.json").read_text()
    assert str(prepared) not in text  # no path of this machine
    assert json.loads(text)["licence"] == "MIT"


def state(folder: Path) -> dict:
    """Identity, size and time of each file, except locks, which every access touches."""
    files = {path: path.stat() for path in folder.rglob("*") if path.suffix != ".lock"}
    return {path: (at.st_ino, at.st_size, at.st_mtime_ns) for path, at in files.items()}


def test_second_checkout_fetches_and_decodes_nothing(prepared, tmp_path):
    """Neither the mirror nor TensorFlow is touched: there is no mirror, and importing it fails."""
    data, manifest = prepared / "data", tmp_path / "manifest.json"
    before = state(data)
    assert fetch("fashion_mnist", tmp_path, data, source="real").returncode == 0
    assert "arrays in the data folder" in (tmp_path / "source.json").read_text()
    for name in ("tensorflow", "tensorflow_datasets"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError\n")
    options = {"source": tmp_path / "source.json", "folder": data, "lock": lock_of(data)}
    line = command("serialize", **options, output=manifest)
    done = call(line, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert state(data) == before
    assert manifest.read_bytes() == (prepared / "results/manifest.json").read_bytes()


def test_damaged_array_is_one_clear_error_whose_remedy_works(prepared, tmp_path, mirror):
    """Delete the named folder and run again: the store is repaired."""
    for name in ("data", "results"):
        shutil.copytree(prepared / name, tmp_path / name)
    (array,) = tmp_path.glob("data/arrays/*/test_inputs.npy")
    content = array.read_bytes()

    def refused() -> None:
        with pytest.raises(UserError, match="delete the folder") as caught:
            loaded(tmp_path)
        assert str(array) in str(caught.value)

    np.save(array, np.load(array).reshape(-1, 1, 28, 28))  # another shape
    refused()
    array.unlink()
    refused()
    array.write_bytes(content[:-1])
    refused()
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
