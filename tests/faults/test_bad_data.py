"""Files of listed checksums that would do harm, or are no data set: none executed, one message."""

import gzip
import hashlib
import io
import os
import pickle
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from unit.data_programs import FASHION_FILES, fetch, refused, serialize

from paragone.base.errors import UserError
from paragone.data import tfds_builders

pytestmark = pytest.mark.full


class Harmful:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.system, (f"touch {self.path}",)


def npz(**arrays: np.ndarray) -> dict[str, bytes]:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return {"reuters.npz": stream.getvalue()}


def photograph(width: int, height: int) -> bytes:
    """A JPEG image of a few bytes whose header claims this size."""
    stream = io.BytesIO()
    Image.new("RGB", (8, 8)).save(stream, "JPEG")
    content = bytearray(stream.getvalue())
    frame = content.index(b"\xff\xc0") + 5
    content[frame : frame + 4] = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    return bytes(content)


def cats(name: str, content: bytes, mode: int = stat.S_IFREG | 0o644) -> dict[str, bytes]:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        member = zipfile.ZipInfo(name)
        member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, mode << 16
        archive.writestr(member, content)
    return {"cats.zip": stream.getvalue()}


def fashion(content: bytes) -> dict[str, bytes]:
    return dict.fromkeys(FASHION_FILES, content)


CAT = "PetImages/Cat/0.jpg"
LINK = stat.S_IFLNK | 0o777
CASES = {
    "pickled": (lambda evil: npz(x=np.array([Harmful(evil)], dtype=object), y=np.zeros(1)), "must"),
    "other arrays": (lambda _: npz(z=np.zeros(3)), "x.npy"),
    "bare pickle": (lambda evil: {"reuters.npz": pickle.dumps(Harmful(evil))}, "not a zip file"),
    "huge image": (lambda _: cats(CAT, photograph(60_000, 60_000)), "60000 x 60000 pixels"),
    "torn image": (lambda _: cats(CAT, photograph(64, 64)[:60]), "cannot be read as this data set"),
    "parent": (lambda _: cats("../../evil.jpg", b""), "leads out of the archive"),
    "absolute": (lambda _: cats("/evil.jpg", b""), "leads out of the archive"),
    "backslash": (lambda _: cats("a\\..\\evil", b""), "leads out of the archive"),
    "link": (lambda _: cats(CAT, b"/etc/passwd", LINK), "is a link"),
    "no images": (lambda _: fashion(gzip.compress(b"no images")), "cannot be read"),
    "torn gzip": (lambda _: fashion(gzip.compress(bytes(10_000))[:20]), "cannot be read"),
}
DATASETS = {"reuters.npz": "reuters", "cats.zip": "cats_vs_dogs"}


@pytest.mark.injects(
    "3 data",
    "files of right checksums that would do harm or are no data set",
    "pickles, traversal, links, torn files from a mirror",
)
@pytest.mark.parametrize("case", CASES)
def test_what_is_no_data_set_is_one_message(tmp_path, case):
    make, words = CASES[case]
    evidence = tmp_path / "executed"
    files = make(evidence)
    dataset = DATASETS.get(next(iter(files)), "fashion_mnist")
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


@pytest.mark.injects("3 data", "archives that are bombs", "made zip and gzip files")
def test_bombs_are_refused_and_harmless_archives_pass(tmp_path, monkeypatch):
    content = cats(CAT, bytes(2**22))["cats.zip"], gzip.compress(bytes(2**22))
    for name, each in zip(("a.zip", "a.gz"), content, strict=True):
        (tmp_path / name).write_bytes(each)
        tfds_builders.check_archive(tmp_path / name)
    monkeypatch.setattr(tfds_builders, "MOST_BYTES", 2**20)
    for name in ("a.zip", "a.gz"):
        with pytest.raises(UserError, match="a bomb"):
            tfds_builders.check_archive(tmp_path / name)
