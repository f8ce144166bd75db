"""Fashion-MNIST from the official files: right bytes, right order, and no work done twice."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from data_programs import ROOT, fetch, lock_of, prepare, serialize

from paragone.base.errors import UserError
from paragone.data import load


@pytest.fixture(scope="module")
def prepared(mirror, fashion) -> Path:
    """A folder with a filled store in data/, from the real files, and the two JSON files in results/."""
    return fashion.folder.with_name("copy")


@pytest.fixture
def dataset(prepared):
    return load(prepared / "results/manifest.json", prepared / "data")


def test_arrays_are_the_official_files_in_their_order(dataset, mirror):
    for split, prefix in (("train", "train"), ("test", "t10k")):
        images, labels = (
            gzip.decompress((mirror / f"fashion_mnist/{prefix}-{kind}-ubyte.gz").read_bytes())
            for kind in ("images-idx3", "labels-idx1")
        )
        images = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 28, 28, 1)
        labels = np.frombuffer(labels, np.uint8, offset=8)
        assert np.array_equal(getattr(dataset, f"{split}_inputs"), images)
        assert np.array_equal(getattr(dataset, f"{split}_labels"), labels)


def test_loaded_data_set_says_what_it_is(dataset):
    assert (dataset.name, dataset.source, dataset.edition) == ("fashion_mnist", "real", "official")
    assert dataset.train_inputs.dtype == np.uint8
    assert dataset.train_labels.dtype == np.int32
    assert dataset.class_names[9] == "Ankle boot"
    assert dataset.vocabulary is None
    with pytest.raises(ValueError, match="read-only"):
        dataset.train_inputs[0] = 0


def test_manifest_holds_no_path_of_this_machine(prepared):
    text = (prepared / "results/manifest.json").read_text()
    assert str(prepared) not in text
    assert json.loads(text)["licence"] == "MIT"


def test_second_checkout_fetches_and_decodes_nothing(prepared, tmp_path):
    """Neither the mirror nor TensorFlow is touched: there is no mirror, and importing it fails."""
    before = _state(prepared / "data")
    assert fetch("fashion_mnist", tmp_path, prepared / "data", source="real").returncode == 0
    assert "arrays in the data folder" in (tmp_path / "source.json").read_text()
    program = ROOT / "scripts/serialize.py"
    blocked = (
        "import sys, runpy\n"
        "sys.modules['tensorflow'] = sys.modules['tensorflow_datasets'] = None\n"
        f"sys.argv[0] = {str(program)!r}; sys.path.insert(0, {str(program.parent)!r})\n"
        f"runpy.run_path({str(program)!r}, run_name='__main__')"
    )
    lock = ["--lock", lock_of(prepared / "data")]
    options = ["--source", tmp_path / "source.json", "--folder", prepared / "data", *lock]
    subprocess.run(
        [sys.executable, "-c", blocked, *options, "--output", tmp_path / "manifest.json"],
        check=True,
    )
    assert _state(prepared / "data") == before
    assert (tmp_path / "manifest.json").read_bytes() == (
        prepared / "results/manifest.json"
    ).read_bytes()


def test_loading_imports_no_framework():
    code = (
        "import sys, paragone.data\n"
        "heavy = {'tensorflow', 'torch', 'pandas', 'requests'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT / "scripts", check=True)


@pytest.mark.parametrize("fault", ["truncated", "missing", "other shape"])
def test_damaged_array_is_one_clear_error(prepared, tmp_path, fault):
    store, results = _copy(prepared, tmp_path)
    (array,) = store.glob("arrays/*/test_inputs.npy")
    if fault == "truncated":
        with array.open("r+b") as file:
            file.truncate(array.stat().st_size - 1)
    elif fault == "missing":
        array.unlink()
    else:
        np.save(array, np.load(array).reshape(-1, 1, 28, 28))
    with pytest.raises(UserError, match="delete the folder") as caught:
        load(results / "manifest.json", store)
    assert str(array) in str(caught.value)


def test_the_remedy_for_a_damaged_array_works(prepared, tmp_path, mirror):
    """Delete the named folder and run again: the store is repaired."""
    store, results = _copy(prepared, tmp_path)
    (array,) = store.glob("arrays/*/test_inputs.npy")
    array.write_bytes(array.read_bytes()[:1000])
    shutil.rmtree(results)
    prepare("fashion_mnist", results, store, environment=str(mirror))
    assert load(results / "manifest.json", store).test_inputs.shape == (10_000, 28, 28, 1)


def test_file_that_changes_after_its_check_is_not_used(mirror, tmp_path):
    copy = tmp_path / "mirror/fashion_mnist"
    shutil.copytree(mirror / "fashion_mnist", copy, copy_function=shutil.copyfile)
    assert fetch("fashion_mnist", tmp_path, tmp_path / "data", str(copy.parent)).returncode == 0
    labels = copy / "t10k-labels-idx1-ubyte.gz"
    labels.chmod(0o644)
    labels.write_bytes(labels.read_bytes()[:-1] + b"x")
    done = serialize(tmp_path, tmp_path / "data")
    assert done.returncode == 1
    assert "error: fashion_mnist changed after its check" in done.stderr
    assert not list(tmp_path.glob("data/arrays/*"))
    assert not (tmp_path / "manifest.json").exists()


def _state(folder: Path) -> dict:
    """Identity, size and time of each file, except locks, which every access touches."""
    files = (path for path in sorted(folder.rglob("*")) if path.suffix != ".lock")
    return {
        path: (path.stat().st_ino, path.stat().st_size, path.stat().st_mtime_ns) for path in files
    }


def _copy(prepared: Path, to: Path) -> tuple[Path, Path]:
    shutil.copytree(prepared / "data", to / "data")
    shutil.copytree(prepared / "results", to / "results")
    return to / "data", to / "results"
