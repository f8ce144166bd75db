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
from data_programs import FASHION_FILES, fetch, serialize
from PIL import Image
from workspace import refused

pytestmark = pytest.mark.full


class Harmful:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.system, (f"touch {self.path}",)


def npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def photograph() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 64)).save(stream, "JPEG")
    return stream.getvalue()


def archive(name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr(name, content)
    return stream.getvalue()


CATS, CAT = "cats_vs_dogs", "PetImages/Cat/0.jpg"
FILES = {"reuters": ["reuters.npz"], "cats_vs_dogs": ["cats.zip"], "fashion_mnist": FASHION_FILES}
# The data set, the content of each of its files, given what must not be made, and the words of the message.
CASES = {
    "pickled": ("reuters", lambda evil: npz(x=np.array([Harmful(evil)], object), y=[0]), "must"),
    "other arrays": ("reuters", lambda _: npz(z=np.zeros(3)), "x.npy"),
    "bare pickle": ("reuters", lambda evil: pickle.dumps(Harmful(evil)), "not a zip file"),
    "torn image": (CATS, lambda _: archive(CAT, photograph()[:60]), "cannot be read"),
    "parent": (CATS, lambda _: archive("../../evil.jpg", b""), "No examples"),
    "absolute": (CATS, lambda _: archive("/evil.jpg", b""), "No examples"),
    "no images": ("fashion_mnist", lambda _: gzip.compress(b"no images"), "cannot be read"),
    "torn gzip": ("fashion_mnist", lambda _: gzip.compress(bytes(10_000))[:20], "cannot be read"),
}


@pytest.mark.injects("files of right checksums that would do harm or are no data set")
@pytest.mark.parametrize("case", CASES)
def test_what_is_no_data_set_is_one_message(tmp_path, case):
    dataset, make, words = CASES[case]
    evidence = tmp_path / "executed"
    content = make(evidence)
    mirror = tmp_path / "mirror" / dataset
    mirror.mkdir(parents=True)
    for name in FILES[dataset]:
        (mirror / name).write_bytes(content)
    hashes = dict.fromkeys(FILES[dataset], hashlib.sha256(content).hexdigest())
    block, data = {"editions": {"made": hashes}}, tmp_path / "data"
    fetched = fetch(dataset, tmp_path / "results", data, str(mirror.parent), block, source="real")
    assert fetched.returncode == 0, fetched.stderr
    refused(serialize(tmp_path / "results", data), words)
    assert not evidence.exists()
    assert not (tmp_path / "results/manifest.json").exists()
    assert not list((data / "arrays").iterdir())
    assert not list(tmp_path.rglob("*evil*"))
