"""Files of listed checksums that would do harm, or are no data set: none executed, one message."""

import gzip
import hashlib
import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from unit.data_programs import FASHION_FILES, fetch, refused, serialize

pytestmark = pytest.mark.full


class Harmful:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.system, (f"touch {self.path}",)


def pickled(evidence: Path) -> dict[str, bytes]:
    stream = io.BytesIO()
    texts = np.array([Harmful(evidence)], dtype=object)
    np.savez(stream, x=texts, y=np.zeros(1))
    return {"reuters.npz": stream.getvalue()}


def not_reuters(_: Path) -> dict[str, bytes]:
    stream = io.BytesIO()
    np.savez(stream, z=np.zeros(3))
    return {"reuters.npz": stream.getvalue()}


def bare_pickle(evidence: Path) -> dict[str, bytes]:
    return {"reuters.npz": pickle.dumps(Harmful(evidence))}


def photograph(width: int, height: int) -> bytes:
    """A JPEG image of a few bytes that says that it has so many pixels."""
    stream = io.BytesIO()
    Image.new("RGB", (8, 8)).save(stream, "JPEG")
    content = bytearray(stream.getvalue())
    frame = content.index(b"\xff\xc0") + 5
    content[frame : frame + 4] = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    return bytes(content)


def cats(**files: bytes) -> dict[str, bytes]:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return {"cats.zip": stream.getvalue()}


def huge_image(_: Path) -> dict[str, bytes]:
    return cats(**{"PetImages/Cat/0.jpg": photograph(60_000, 60_000)})


def broken_image(_: Path) -> dict[str, bytes]:
    return cats(**{"PetImages/Cat/0.jpg": photograph(64, 64)[:60]})


def traversal(_: Path) -> dict[str, bytes]:
    return cats(**{"../../evil.jpg": photograph(64, 64)})


def zip_bomb(_: Path) -> dict[str, bytes]:
    return cats(**{"PetImages/Cat/0.jpg": bytes(1_100_000_000)})


def no_images(_: Path) -> dict[str, bytes]:
    return dict.fromkeys(FASHION_FILES, gzip.compress(b"these are no images"))


def half_images(_: Path) -> dict[str, bytes]:
    return dict.fromkeys(FASHION_FILES, gzip.compress(bytes(10_000))[:20])


CASES = [
    ("reuters", pickled, "must not load posix.system"),
    ("reuters", not_reuters, "x.npy"),
    ("reuters", bare_pickle, "not a zip file"),
    ("cats_vs_dogs", huge_image, "60000 x 60000 pixels"),
    ("cats_vs_dogs", broken_image, "cannot be read as this data set"),
    ("cats_vs_dogs", traversal, "leads out of the archive"),
    ("cats_vs_dogs", zip_bomb, "a bomb"),
    ("fashion_mnist", no_images, "cannot be read as this data set"),
    ("fashion_mnist", half_images, "cannot be read as this data set"),
]


@pytest.mark.injects(
    "3 data",
    "files of right checksums that would do harm or are no data set",
    "pickles, traversal, bombs, torn files from a mirror",
)
@pytest.mark.parametrize(
    ("dataset", "make", "words"),
    [
        case if case[1] is pickled else pytest.param(*case, marks=pytest.mark.nightly)
        for case in CASES
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_no_data_set_is_one_message(tmp_path, dataset, make, words):
    evidence = tmp_path / "executed"
    files = make(evidence)
    mirror = tmp_path / "mirror" / dataset
    mirror.mkdir(parents=True)
    for name, content in files.items():
        (mirror / name).write_bytes(content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    block, data = {"editions": {"made": hashes}}, tmp_path / "data"
    fetched = fetch(dataset, tmp_path / "results", data, str(mirror.parent), block, source="real")
    assert fetched.returncode == 0, fetched.stderr
    refused(serialize(tmp_path / "results", data), words)
    assert not evidence.exists()
    assert not (tmp_path / "results/manifest.json").exists()
    assert not list((data / "arrays").iterdir())
    assert not list(tmp_path.rglob("*evil*"))
