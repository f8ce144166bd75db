"""Where data come from: mirrors, addresses, stand-ins, plugins; and data that change or are large."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from data_programs import (
    DATASETS,
    DIGITS,
    FASHION_FILES,
    LABELS,
    NPZ,
    fetch,
    made,
    pictures,
    serialize,
    wrong,
)
from faults.lying_server import honest, serving
from workspace import memory_limited, refused

from paragone.config.datasets import state_of_files
from paragone.data import load

# Without the official edition there is no official address to ask: tests need no network's absence.
LOCAL = {"editions": {"mirrored": DATASETS["reuters"]["editions"]["official"]}}


@pytest.fixture
def copied(mirror, tmp_path) -> Path:
    """A writable mirror with Fashion-MNIST and Reuters."""
    root = tmp_path / "copied"
    for dataset in ("fashion_mnist", "reuters"):
        shutil.copytree(mirror / dataset, root / dataset, copy_function=shutil.copyfile)
    return root


def source(dataset: str, results: Path, *about: str, **options: object) -> dict:
    """What is then in source.json."""
    done = fetch(dataset, results, results.parent / "data", *about, **options)
    assert done.returncode == 0, done.stderr
    return json.loads((results / "source.json").read_text())


def test_mirror_folder_is_used_in_place(mirror, tmp_path):
    for mirrors in (str(mirror), mirror.as_uri()):
        of_mirror = source("fashion_mnist", tmp_path / "results", mirrors)
        assert (of_mirror["source"], of_mirror["origin"]) == ("real", "mirror folder")
        assert {file["name"]: file["sha256"] for file in of_mirror["files"]} == FASHION_FILES
        assert not (tmp_path / "data/raw").exists()


def test_archives_of_mnist_are_found_by_their_content(mirror, tmp_path):
    edition = source("mnist", tmp_path / "results", str(mirror))["edition"]
    assert edition in ("official", "unpacked")


def test_mirrors_of_the_config_come_first_and_one_without_the_data_is_passed_over(
    copied, mirror, tmp_path
):
    results = tmp_path / "results"
    (file,) = source("reuters", results, str(mirror), mirrors=[str(copied)])["files"]
    assert Path(file["path"]).is_relative_to(copied)
    shutil.rmtree(copied / "fashion_mnist")
    assert source("fashion_mnist", results, f"{copied};{mirror}")["source"] == "real"


def test_url_mirror_is_downloaded_once_and_checked(mirror, tmp_path):
    """Lies of a server: tests/faults/test_mirrors.py."""
    options = {"source": "real", "block": LOCAL}
    with serving(honest, (mirror / "reuters/reuters.npz").read_bytes()) as server:
        url = f"http://{server.address}"
        assert source("reuters", tmp_path / "first", url, **options)["origin"] == f"{url}/reuters"
        again = source("reuters", tmp_path / "second", url, **options)
        assert server.paths == ["/reuters/reuters.npz"]
    assert (again["origin"], again["edition"]) == ("downloaded before", "mirrored")


def test_an_unknown_edition_and_an_incomplete_mirror_are_errors(copied, tmp_path):
    data, editions = tmp_path / "data", DATASETS["reuters"]["editions"]
    (copied / "reuters/reuters.npz").write_bytes(b"another edition")
    known = [f"{files['reuters.npz']} ({name})" for name, files in editions.items()]
    refused(fetch("reuters", tmp_path, data, str(copied)), *known)
    (copied / "fashion_mnist/train-labels-idx1-ubyte.gz").unlink()
    done = fetch("fashion_mnist", tmp_path, data, str(copied))
    refused(done, "incomplete", "train-labels-idx1-ubyte.gz", str(copied))


@pytest.mark.parametrize(
    ("mirrors", "policy", "words"),
    [
        ("/no-such-folder", "auto", ["folder /no-such-folder does not exist", "PARAGONE_MIRRORS"]),
        ("", "real", ["no real reuters", "PARAGONE_MIRRORS", "data.source"]),
        ("http://127.0.0.1:9", "real", ["http://127.0.0.1:9", "ConnectionError"]),
    ],
)
def test_no_place_with_real_data_is_an_error(tmp_path, mirrors, policy, words):
    done = fetch("reuters", tmp_path, tmp_path / "data", mirrors, block=LOCAL, source=policy)
    refused(done, *words)


FRUIT = {"form": "folder", "path": "fruit", "size": 8, "held_out": 0.25}
COLORS = {"lemon": (250, 240, 10), "plum": (60, 10, 120)}


@pytest.fixture
def arrays(here) -> Path:
    """The file of NPZ in the user's folder."""
    np.savez("mine.npz", inputs=DIGITS, labels=LABELS)
    return here / "mine.npz"


def fetched(block: dict, **settings: object):
    return fetch("mine", Path("results"), Path("data"), block=block, **settings)


def test_a_stand_in_has_the_shapes_of_the_real_data(arrays):
    refused(fetched(NPZ, source="synthetic"), "no stand-in of mine", "shape, classes, examples")
    dataset, _ = made(NPZ)
    arrays.unlink()
    shapes = {"shape": [8, 8, 1], "dtype": "float32", "classes": 5}
    shapes["examples"] = {"train": 40, "test": 10}
    stand_in, _ = made({**NPZ, "stand_in": shapes}, source="synthetic")
    assert (stand_in.source, stand_in.class_names) == ("synthetic", dataset.class_names)
    for name in ("train_inputs", "train_labels", "test_inputs", "test_labels"):
        made_up, real = getattr(stand_in, name), getattr(dataset, name)
        assert (made_up.shape, made_up.dtype) == (real.shape, real.dtype)
    refused(fetched(NPZ), "datasets.mine.path", "nothing at mine.npz")


def test_a_change_of_any_file_below_a_folder_is_seen(here):
    """A folder's own time says nothing of what is two levels below. An image more is another content."""
    pictures(Path("fruit"), COLORS)
    before = state_of_files(FRUIT)
    image = Path("fruit/plum/1.png")
    image.write_bytes(image.read_bytes() + b" ")
    changed = state_of_files(FRUIT)
    Path("fruit/plum/more.png").write_bytes(image.read_bytes())
    assert len({before, changed, state_of_files(FRUIT)}) == 3


def test_memory_does_not_grow_with_the_data(here):
    """400 MB of compressed floats, serialized by a process that may allocate 300 MB at most."""
    inputs = np.zeros((100_000, 1000), np.float32)
    np.savez_compressed("mine.npz", inputs=inputs, labels=np.arange(100_000) % 2)
    assert fetched(NPZ).returncode == 0
    with memory_limited(300 << 20):
        done = serialize(Path("results"), Path("data"), alone=True)
    assert done.returncode == 0, done.stderr
    assert load("results/manifest.json", "data").train_inputs.shape == (80_000, 1000)


OWN_FORM = """
import numpy as np
from paragone.data.forms import ARRAYS, WHOLE, Raw, ExampleStream

def read(source, scratch, kept):
    arrays = np.full((10, 2), VALUE, np.float32), np.arange(10) % 2
    stream = ExampleStream(EXAMPLES, lambda: iter([arrays]))
    return Raw(ARRAYS, {WHOLE: stream}, ('a', 'b'), 'a test', (2,), np.float32)
"""


def test_a_form_of_a_plugin(here, monkeypatch):
    """Ten equal numbers; an edit makes other arrays. One that returns something else is refused."""
    path = here / "own/data/forms/mine.py"
    path.parent.mkdir(parents=True)
    monkeypatch.setenv("PARAGONE_PLUGINS", str(here / "own"))
    block = {"form": "mine", "held_out": 0.2, "files": ["a"], "builder": "none"}
    text = OWN_FORM.replace("EXAMPLES", "10")
    for value in (1, 70):  # of another length: Python looks at seconds and sizes
        path.write_text(text.replace("VALUE", str(value)))
        dataset, manifest = made(block)
        assert dataset.train_inputs.max() == value
    assert manifest["recipe"]["parameters"]["files"] == ["a"]
    for text, reason in (
        (OWN_FORM.replace("EXAMPLES", "11").replace("VALUE", "1"), "announced 11"),
        ("def read(*_):\n    return 5\n", "forms/mine.py: read returned int, no Raw"),
    ):
        path.write_text(text)
        wrong(block, reason)
