"""The lock file of a user's data, and what becomes of data that change."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from data_programs import fetch, lock_of, refused, serialize
from own_data import DIGITS, LABELS, made, pictures

from paragone.config.datasets import shaping, state_of_files
from paragone.data import load


def test_first_use_writes_checksums_and_shapes(here):
    np.savez("a.npz", inputs=DIGITS, labels=LABELS)
    block = {"form": "arrays", "path": "a.npz", "held_out": 0.2}
    dataset, _ = made(block)
    locked = json.loads(lock_of(Path("data")).read_text())["mine"]
    assert set(locked["files"]) == {"a.npz"}
    assert locked["stand_in"]["shape"] == [8, 8, 1]
    assert locked["stand_in"]["examples"] == {"train": 40, "test": 10}
    Path("a.npz").unlink()  # on another machine, which has the lock file and no data
    stand_in, _ = made(block, source="synthetic")
    assert (stand_in.source, stand_in.class_names) == ("synthetic", dataset.class_names)
    for name in ("train_inputs", "train_labels", "test_inputs", "test_labels"):
        made_up, real = getattr(stand_in, name), getattr(dataset, name)
        assert (made_up.shape, made_up.dtype) == (real.shape, real.dtype)


def test_other_content_is_an_error_until_the_lock_is_removed(here):
    block = {"form": "arrays", "path": "a.npz", "held_out": 0.2}
    np.savez("a.npz", inputs=DIGITS, labels=LABELS)
    first, _ = made(block)
    np.savez("a.npz", inputs=DIGITS + 1, labels=LABELS)
    done = fetch("mine", Path("results"), Path("data"), block=block)
    refused(done, "a.npz of data set mine changed", "datasets.lock.json", "remove mine")
    lock_of(Path("data")).unlink()
    second, _ = made(block)
    assert second.edition != first.edition
    assert second.train_inputs.max() == first.train_inputs.max() + 1


def test_an_image_more_is_another_content(here):
    pictures(Path("fruit"), {"lemon": (250, 240, 10), "plum": (60, 10, 120)})
    block = {"form": "folder", "path": "fruit", "size": 8, "held_out": 0.25}
    made(block)
    (here / "fruit/plum/more.png").write_bytes((here / "fruit/plum/1.png").read_bytes())
    done = fetch("mine", Path("results"), Path("data"), block=block)
    refused(done, "plum of data set mine changed")


def test_a_second_checkout_needs_no_file(here):
    """The store has the arrays, the lock file their checksums."""
    np.savez("a.npz", inputs=DIGITS, labels=LABELS)
    block = {"form": "arrays", "path": "a.npz", "held_out": 0.2}
    made(block)
    Path("a.npz").unlink()
    dataset, _ = made(block)
    assert dataset.source == "real"
    wrong_name = fetch("other", Path("results"), Path("data"), block=block)
    refused(wrong_name, "datasets.other.path", "nothing at a.npz")


def test_a_lock_file_that_is_none(here):
    np.savez("a.npz", inputs=DIGITS, labels=LABELS)
    lock_of(Path("data")).write_text("[]")
    block = {"form": "arrays", "path": "a.npz", "held_out": 0.2}
    refused(fetch("mine", Path("results"), Path("data"), block=block), "not a lock file")


def test_no_stand_in_without_shapes(here):
    block = {"form": "arrays", "path": "a.npz", "held_out": 0.2}
    done = fetch("mine", Path("results"), Path("data"), block=block, source="synthetic")
    refused(done, "no stand-in of mine", "shape, classes, examples", "datasets.mine.stand_in")


def test_memory_does_not_grow_with_the_data(here):
    """400 MB of compressed floats, serialized by a process that may allocate 300 MB at most."""
    from workspace import memory_limited

    with zipfile.ZipFile("large.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("inputs.npy", "w", force_zip64=True) as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (100_000, 1000)}
            np.lib.format.write_array_header_1_0(file, header)
            for _ in range(100):
                file.write(bytes(4_000_000))
        with archive.open("labels.npy", "w") as file:
            np.lib.format.write_array(file, np.arange(100_000) % 2)
    block = {"form": "arrays", "path": "large.npz", "held_out": 0.2}
    assert fetch("mine", Path("results"), Path("data"), block=block).returncode == 0
    with memory_limited(300 << 20):
        done = serialize(Path("results"), Path("data"), alone=True)
    assert done.returncode == 0, done.stderr
    assert load("results/manifest.json", "data").train_inputs.shape == (80_000, 1000)


def test_a_change_of_any_file_below_a_folder_is_seen(here):
    """A folder's own time says nothing of what is two levels below."""
    pictures(Path("fruit"), {"lemon": (250, 240, 10), "plum": (60, 10, 120)})
    block = {"form": "folder", "path": "fruit", "size": 8, "held_out": 0.25}
    before = state_of_files(block)
    assert state_of_files(block) == before
    image = Path("fruit/plum/1.png")
    image.write_bytes(image.read_bytes() + b" ")
    changed = state_of_files(block)
    image.rename("fruit/plum/more.png")
    assert len({before, changed, state_of_files(block)}) == 3


@pytest.fixture
def own_form(here, monkeypatch) -> Path:
    """The module of a form in a plugin: ten numbers, half of them of each class."""
    path = here / "own/data/forms/mine.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import numpy as np\nfrom paragone.data.forms import ARRAYS, WHOLE, Raw, Stream\n"
        "VALUE, EXAMPLES = 1, 10\n"
        "def read(source, scratch, kept):\n"
        "    found = np.full((10, 2), VALUE, np.float32), np.arange(10) % 2\n"
        "    stream = Stream(EXAMPLES, lambda: iter([found]))\n"
        "    return Raw(ARRAYS, {WHOLE: stream}, ('a', 'b'), 'a test', (2,), np.float32)\n"
    )
    monkeypatch.setenv("PARAGONE_PLUGINS", str(here / "own"))
    return path


def test_an_edit_of_a_form_in_a_plugin_makes_other_arrays(own_form):
    block = {"form": "mine", "held_out": 0.2, "files": ["a"], "builder": "none"}
    first, _ = made(block)
    own_form.write_text(own_form.read_text().replace("EXAMPLES = 1,", "EXAMPLES = 7,"))
    second, manifest = made(block)
    assert (first.train_inputs.max(), second.train_inputs.max()) == (1, 7)
    assert manifest["recipe"]["parameters"]["files"] == ["a"]
    assert "code" not in shaping({"form": "arrays", "path": "a.npz"})


@pytest.mark.parametrize("count", [9, 11])
def test_a_form_that_reads_more_or_less_than_it_says(own_form, count):
    own_form.write_text(own_form.read_text().replace(" = 1, 10", f" = 1, {count}"))
    assert (
        fetch(
            "mine", Path("results"), Path("data"), block={"form": "mine", "held_out": 0.2}
        ).returncode
        == 0
    )
    refused(serialize(Path("results"), Path("data")), "10 or more examples", f"announced {count}")


def test_a_form_that_returns_something_else(own_form):
    own_form.write_text("def read(source, scratch, kept):\n    return 5\n")
    assert fetch("mine", Path("results"), Path("data"), block={"form": "mine"}).returncode == 0
    refused(serialize(Path("results"), Path("data")), "forms/mine.py: read returned int, no Raw")
