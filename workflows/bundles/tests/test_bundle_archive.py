"""Bundles: the same bytes for the same results, read back whole, and what is refused."""

import hashlib
import json
import zipfile
from pathlib import Path

import msgspec
import numpy as np
import pytest
from make_contests import QUESTION, make_contests, write_contests
from make_records import make_record
from make_results import MANIFEST, write_results

import bundle
import bundle_archive
from bundle_archive import ALLOWED, CONFIG, LISTING
from paragone.base.errors import UserError

RUN = make_record()["run"]
RECORD = f"runs/{RUN}/record.json"
CONTESTS = f"contests/{QUESTION}/record.json"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = write_results(tmp_path_factory.mktemp("results"), [make_record("torch")])
    np.savez(folder / f"runs/{RUN}/predictions.npz", labels=np.arange(3))
    write_contests(folder, make_contests("2026-01-01T00:00:00+00:00", {"torch": 100.0}))
    return folder


def packed(results: Path, output: Path) -> Path:
    names = [path.relative_to(results).as_posix() for path in results.rglob("*.*")]
    paths = [results / name for name in names if ALLOWED.fullmatch(name)]
    asked = {"mine": [QUESTION]}
    bundle_archive.pack(results, paths, {"seed": 0}, {"mine": [RUN]}, asked, "free", output)
    return output


@pytest.fixture
def archive(results, tmp_path):
    return packed(results, tmp_path / "a.zip")


def refusal(
    archive: Path,
    name: str = CONFIG,
    content: bytes = b"{}",
    file: dict | None = None,
    **listing: object,
) -> str:
    """The message on a copy in which a file has this content.

    Its listing agrees, but for what `file` says of the file and `listing` of the bundle.
    """
    made, contents = bundle_archive.read(archive)
    contents[name] = content
    files = msgspec.to_builtins(made.files)
    files[name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)} | (
        file or {}
    )
    whole = {"files": files, "digest": bundle_archive.digest(files)} | listing
    contents[LISTING] = json.dumps(msgspec.to_builtins(made) | whole).encode()
    forged = archive.with_name("forged.zip")
    with zipfile.ZipFile(forged, "w", zipfile.ZIP_DEFLATED) as new:
        for each, text in contents.items():
            new.writestr(each, text)
    with pytest.raises(UserError) as refused:
        bundle_archive.read(forged)
    assert str(forged) in str(refused.value)
    return str(refused.value)


def test_the_same_results_make_the_same_bytes_that_are_read_back(results, tmp_path, capsys):
    first, second = (packed(results, tmp_path / name) for name in ("a/x.zip", "b/x.zip"))
    assert first.read_bytes() == second.read_bytes()
    listing, contents = bundle_archive.read(first)
    assert (listing.license, listing.experiments) == ("free", {"mine": [RUN]})
    assert listing.contests == {"mine": [QUESTION]}
    assert json.loads(contents.pop(CONFIG)) == {"seed": 0}
    assert contents["data/fashion_mnist/manifest.json"].decode() == MANIFEST
    bundle_archive.write(contents, tmp_path / "out")
    for name in contents:
        assert (tmp_path / "out" / name).read_bytes() == (results / name).read_bytes()
    bundle.main(["check", str(first)])
    assert "1 runs, 1 records of contests on node-1" in capsys.readouterr().out


def test_a_damaged_archive_and_a_listing_that_is_wrong_are_refused(archive):
    assert "schema version 99" in refusal(archive, schema=99)
    assert "its digest is not that of its files" in refusal(archive, digest="0" * 64)
    content = archive.read_bytes()
    archive.write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=f"{archive}: not a whole archive"):
        bundle_archive.read(archive)


def test_what_is_not_what_was_measured_is_refused(results, archive):
    """A file changed under the listing's SHA-256; a record edited though all other digests agree."""
    assert "SHA-256" in refusal(archive, file={"sha256": "0" * 64})
    for name, old, new in (
        (RECORD, '"test_accuracy": 0.', '"test_accuracy": 0.9'),
        (CONTESTS, '"steps": 40', '"steps": 80'),
    ):
        text = (results / name).read_text()
        assert old in text
        edited = text.replace(old, new, 1).encode()
        assert "changed after it was written" in refusal(archive, name, edited)
    text = (results / CONTESTS).read_bytes()
    assert f"the record of {QUESTION}" in refusal(archive, "contests/other/record.json", text)


@pytest.mark.parametrize(
    "name",
    ["../evil.json", "/tmp/evil.json", "runs/../../evil/record.json", "runs/a/b.sh", "x\\y"],
)
def test_names_that_lead_elsewhere_are_refused(archive, name):
    assert "no file of a bundle" in refusal(archive, name)


def test_more_than_it_says_or_than_a_bundle_may_unpack_to_is_refused(archive, monkeypatch):
    name, zeros = "data/big/manifest.json", bytes(2**24)
    assert "unpacks to more than it says" in refusal(archive, name, zeros, {"bytes": 100})
    monkeypatch.setattr(bundle_archive, "MOST", 2**20)
    arrays = archive.with_name("big.npz")
    np.savez_compressed(arrays, zeros=np.zeros(2**18))
    name = f"runs/{RUN}/predictions.npz"
    assert "predictions.npz: unpacks to more" in refusal(archive, name, arrays.read_bytes())
    assert "more than 1 MiB" in refusal(archive, file={"bytes": 2**20})
