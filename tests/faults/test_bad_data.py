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
from workspace import refused

pytestmark = pytest.mark.full


class Harmful:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.system, (f"touch {self.path}",)


def npz(evil: Path) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, x=np.array([Harmful(evil)], object), y=[0])
    return stream.getvalue()


def traversal(_: Path) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("../../evil.jpg", b"")
        file.writestr("/evil.jpg", b"")
    return stream.getvalue()


FILES = {"reuters": ["reuters.npz"], "cats_vs_dogs": ["cats.zip"], "fashion_mnist": FASHION_FILES}


@pytest.mark.injects("files of right checksums that would do harm or are no data set")
@pytest.mark.parametrize(
    ("dataset", "make", "words"),
    [
        ("reuters", npz, "must"),
        ("reuters", lambda evil: pickle.dumps(Harmful(evil)), "not a zip file"),
        ("cats_vs_dogs", traversal, "No examples"),
        ("fashion_mnist", lambda _: gzip.compress(bytes(10_000))[:20], "cannot be read"),
    ],
)
def test_what_is_no_data_set_is_one_message(tmp_path, dataset, make, words):
    """Images and arrays that cannot be read: unit/test_data_kinds.py."""
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
