"""What becomes of data that change, of large ones, and of forms in a plugin."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from data_programs import DIGITS, LABELS, NPZ, fetch, made, pictures, serialize
from workspace import memory_limited, refused

from paragone.config.datasets import shaping, state_of_files
from paragone.data import load

FRUIT = {"form": "folder", "path": "fruit", "size": 8, "held_out": 0.25}
COLORS = {"lemon": (250, 240, 10), "plum": (60, 10, 120)}


@pytest.fixture
def arrays(here) -> Path:
    """The file of NPZ in the user's folder."""
    np.savez("mine.npz", inputs=DIGITS, labels=LABELS)
    return here / "mine.npz"


def fetched(block: dict, name: str = "mine", **settings: object):
    return fetch(name, Path("results"), Path("data"), block=block, **settings)


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


def test_other_content_is_another_edition(arrays):
    first, _ = made(NPZ)
    np.savez("mine.npz", inputs=DIGITS + 1, labels=LABELS)
    second, _ = made(NPZ)
    assert second.edition != first.edition
    assert second.train_inputs.max() == first.train_inputs.max() + 1


def test_a_change_of_any_file_below_a_folder_is_seen(here):
    """A folder's own time says nothing of what is two levels below. An image more is another content."""
    pictures(Path("fruit"), COLORS)
    before = state_of_files(FRUIT)
    assert state_of_files(FRUIT) == before
    image = Path("fruit/plum/1.png")
    image.write_bytes(image.read_bytes() + b" ")
    changed = state_of_files(FRUIT)
    Path("fruit/plum/more.png").write_bytes(image.read_bytes())
    assert len({before, changed, state_of_files(FRUIT)}) == 3


def test_memory_does_not_grow_with_the_data(here):
    """400 MB of compressed floats, serialized by a process that may allocate 300 MB at most."""
    with zipfile.ZipFile("mine.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("inputs.npy", "w", force_zip64=True) as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (100_000, 1000)}
            np.lib.format.write_array_header_1_0(file, header)
            for _ in range(100):
                file.write(bytes(4_000_000))
        with archive.open("labels.npy", "w") as file:
            np.lib.format.write_array(file, np.arange(100_000) % 2)
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


@pytest.fixture
def own_form(here, monkeypatch):
    """Write the form of a plugin: ten equal numbers, half of them of each class."""
    path = here / "own/data/forms/mine.py"
    path.parent.mkdir(parents=True)
    monkeypatch.setenv("PARAGONE_PLUGINS", str(here / "own"))

    def write(text: str = OWN_FORM, value: int = 1, examples: int = 10) -> None:
        path.write_text(text.replace("VALUE", str(value)).replace("EXAMPLES", str(examples)))

    return write


def test_an_edit_of_a_form_in_a_plugin_makes_other_arrays(own_form):
    block = {"form": "mine", "held_out": 0.2, "files": ["a"], "builder": "none"}
    for value in (1, 70):  # of another length: Python looks at seconds and sizes
        own_form(value=value)
        dataset, manifest = made(block)
        assert dataset.train_inputs.max() == value
    assert manifest["recipe"]["parameters"]["files"] == ["a"]
    assert "code" not in shaping(NPZ)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"examples": 9}, "10 or more examples"),
        ({"examples": 11}, "announced 11"),
        ({"text": "def read(*_):\n    return 5\n"}, "forms/mine.py: read returned int, no Raw"),
    ],
)
def test_a_form_that_returns_something_else_than_it_says(own_form, form, words):
    own_form(**form)
    done = fetched({"form": "mine", "held_out": 0.2})
    assert done.returncode == 0, done.stderr
    refused(serialize(Path("results"), Path("data")), words)
