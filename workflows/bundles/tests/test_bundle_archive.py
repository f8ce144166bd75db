"""Bundles: the same bytes for the same results, read back whole, and what is refused."""

import hashlib
import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from make_contests import QUESTION, make_contests, write_contests
from make_records import make_record
from make_results import MANIFEST, write_results

import bundle
import bundle_archive
from bundle_archive import ALLOWED, CONFIG, LISTING, File
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


def altered(archive: Path, changes: dict[str, bytes], add: dict[str, bytes] | None = None) -> Path:
    """A copy with other contents by name, and with the files `add` in any case."""
    changed = archive.with_name("altered.zip")
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(changed, "w", 8) as new:
        for name in old.namelist():
            new.writestr(name, changes.get(name, old.read(name)))
        for name, content in (add or {}).items():
            new.writestr(name, content)
    return changed


def listed(archive: Path, **changes: object) -> dict[str, bytes]:
    """The listing with changes, as a change for `altered`."""
    with zipfile.ZipFile(archive) as file:
        return {LISTING: json.dumps(json.loads(file.read(LISTING)) | changes).encode()}


def with_file(archive: Path, name: str, content: bytes, **about: object) -> Path:
    """A copy in which a file has another content, and the listing agrees, but for `about`."""
    files = dict(bundle_archive.read(archive)[0].files)
    listed_file = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)} | about
    changed, added = ({name: content}, {}) if name in files else ({}, {name: content})
    files[name] = File(**listed_file)
    whole = {key: {"sha256": file.sha256, "bytes": file.bytes} for key, file in files.items()}
    listing = listed(archive, files=whole, digest=bundle_archive.digest(files))
    return altered(archive, listing | changed, added)


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as refused:
        bundle_archive.read(path)
    assert str(path) in str(refused.value)
    return str(refused.value)


def test_the_same_results_make_the_same_bytes_that_are_read_back(results, tmp_path):
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


def test_what_is_no_archive_or_a_damaged_one_is_refused(archive):
    content = archive.read_bytes()
    for damaged in (b"no archive", content[: len(content) // 2]):
        archive.write_bytes(damaged)
        assert "not a whole archive" in refusal(archive)


def test_a_listing_that_is_wrong_is_refused(archive):
    for change, reason in (
        ({"schema": 99}, "schema version 99"),
        ({"digest": "0" * 64}, "its digest is not that of its files"),
    ):
        assert reason in refusal(altered(archive, listed(archive, **change)))
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = altered(archive, {}, add={RECORD: b"{}"})
    assert "twice" in refusal(twice)
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(archive.with_name("b.zip"), "w") as new:
        for name in old.namelist()[:-1]:
            new.writestr(name, old.read(name))
    assert f"{old.namelist()[-1]} is missing" in refusal(archive.with_name("b.zip"))


def test_what_is_not_what_was_measured_is_refused(results, archive):
    """A file changed under the listing's SHA-256; a record edited though all other digests agree."""
    assert "SHA-256" in refusal(altered(archive, {CONFIG: b'{"seed": 1}'.ljust(13)}))
    record = json.loads((results / RECORD).read_text())
    record["epochs"][0]["test_accuracy"] = 0.99
    edited = with_file(archive, RECORD, json.dumps(record).encode())
    assert "changed after it was written" in refusal(edited)
    text = (results / CONTESTS).read_text()
    edited = with_file(archive, CONTESTS, text.replace('"steps": 40', '"steps": 80', 1).encode())
    assert "changed after it was written" in refusal(edited)
    elsewhere = with_file(archive, "contests/other/record.json", text.encode())
    assert f"the record of {QUESTION}" in refusal(elsewhere)


@pytest.mark.parametrize(
    "name",
    ["../evil.json", "/tmp/evil.json", "runs/../../evil/record.json", "runs/a/b.sh", "x\\y"],
)
def test_names_that_lead_elsewhere_are_refused(archive, name):
    assert "no file of a bundle" in refusal(with_file(archive, name, b"{}"))
    assert "no file of a bundle" in refusal(altered(archive, {}, add={name: b"{}"}))


def test_a_bomb_is_refused_before_it_takes_memory(archive):
    """A small archive of 200 MB of zeros, where the listing says 100 bytes."""
    bomb = with_file(archive, "data/big/manifest.json", bytes(200 * 2**20), bytes=100)
    assert bomb.stat().st_size < 10**6
    tracemalloc.start()
    try:
        assert "unpacks to more than it says" in refusal(bomb)
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()


def test_more_than_a_bundle_may_unpack_to_is_refused(archive, monkeypatch):
    monkeypatch.setattr(bundle_archive, "MOST", 2**20)
    arrays = archive.with_name("big.npz")
    np.savez_compressed(arrays, zeros=np.zeros(2**18))
    bomb = with_file(archive, f"runs/{RUN}/predictions.npz", arrays.read_bytes())
    assert "predictions.npz: unpacks to more" in refusal(bomb)
    large = with_file(archive, CONFIG, b"{}", bytes=2**20)
    assert "more than 1 MiB" in refusal(large)


def test_the_program_prints_the_content_of_a_bundle(archive, capsys):
    bundle.main(["check", str(archive)])
    assert "1 runs, 1 records of contests on node-1" in capsys.readouterr().out
