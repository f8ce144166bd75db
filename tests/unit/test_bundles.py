"""Bundles: the same bytes for the same results, read back whole, and what is refused."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from make_records import make_record
from make_results import MANIFEST, write_results

import bundle
from paragone.base.errors import UserError
from paragone.records.bundles import contents, pack, unpack

LICENSE = "https://creativecommons.org/licenses/by/4.0/"
RUN = "fashion-conv.torch.r1.b1000.s0.node-1"
RECORD = f"runs/{RUN}/record.json"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = write_results(tmp_path_factory.mktemp("results"), [make_record("torch")])
    np.savez(folder / f"runs/{RUN}/predictions.npz", labels=np.arange(3))
    return folder


def packed(results: Path, output: Path) -> Path:
    paths = [
        path
        for path in results.rglob("*")
        if path.is_file() and contents.ALLOWED.fullmatch(path.relative_to(results).as_posix())
    ]
    pack.pack(results, paths, {"seed": 0}, {"one": [RUN]}, LICENSE, output)
    return output


@pytest.fixture
def archive(results, tmp_path):
    return packed(results, tmp_path / "a.zip")


def altered(archive: Path, names=(), also=(), **changes: bytes) -> Path:
    """A copy with other contents by name, without `names`, and with `also`, names and contents."""
    changed = archive.with_name("altered.zip")
    with (
        zipfile.ZipFile(archive) as old,
        zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            if name not in names:
                new.writestr(name, changes.get(name, old.read(name)))
        for name, content in also:
            new.writestr(name, content)
    return changed


def listed(archive: Path, **changes: object) -> dict:
    with zipfile.ZipFile(archive) as file:
        return json.loads(file.read(contents.LISTING)) | changes


def with_file(archive: Path, name: str, content: bytes) -> Path:
    """A copy in which a file has another content, and the listing agrees with it."""
    import hashlib

    about = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    files = {**listed(archive)["files"], name: about}
    listing = listed(archive, files=files, digest=contents.digest(files))
    there = name in listed(archive)["files"]
    return altered(
        archive,
        also=() if there else [(name, content)],
        **{contents.LISTING: json.dumps(listing).encode(), **({name: content} if there else {})},
    )


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as refused:
        unpack.read(path)
    assert str(path) in str(refused.value)
    return str(refused.value)


def test_the_same_results_make_the_same_bytes(results, tmp_path):
    first, second = (packed(results, tmp_path / name) for name in ("a/x.zip", "b/x.zip"))
    assert first.read_bytes() == second.read_bytes()


def test_what_was_packed_is_read_back(results, archive, tmp_path):
    listing, found = unpack.read(archive)
    assert listing.license == LICENSE
    assert listing.experiments == {"one": [RUN]}
    assert json.loads(found.pop(contents.CONFIG)) == {"seed": 0}
    assert found["data/fashion_mnist/manifest.json"].decode() == MANIFEST
    for name, content in found.items():
        assert content == (results / name).read_bytes()
    unpack.write(found, tmp_path / "out")
    assert (tmp_path / "out" / RECORD).read_bytes() == found[RECORD]


def test_another_schema_is_refused(archive):
    listing = json.dumps(listed(archive, schema=99)).encode()
    assert "schema version 99" in refusal(altered(archive, **{contents.LISTING: listing}))


def test_a_damaged_archive_is_refused(archive):
    content = bytearray(archive.read_bytes())
    archive.write_bytes(content[: len(content) // 2])
    assert "not a whole archive" in refusal(archive)


def test_a_flipped_bit_is_refused(archive):
    with zipfile.ZipFile(archive) as file:
        at = file.getinfo(RECORD).header_offset + 200
    content = bytearray(archive.read_bytes())
    content[at] ^= 1
    archive.write_bytes(content)
    assert refusal(archive)


def test_what_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "text.zip"
    path.write_text("no archive")
    assert "not a whole archive" in refusal(path)


def test_a_changed_file_is_refused(archive):
    assert "SHA-256" in refusal(altered(archive, **{contents.CONFIG: b'{"seed": 1}'.ljust(13)}))


def test_a_record_that_was_edited_is_refused_though_all_hashes_agree(results, archive):
    record = json.loads((results / RECORD).read_text())
    record["epochs"][0]["test_accuracy"] = 0.99
    assert "changed after it was measured" in refusal(
        with_file(archive, RECORD, json.dumps(record).encode())
    )


def test_a_digest_of_something_else_is_refused(archive):
    listing = json.dumps(listed(archive, digest="0" * 64)).encode()
    assert "digest" in refusal(altered(archive, **{contents.LISTING: listing}))


@pytest.mark.parametrize(
    "name", ["../evil.json", "/tmp/evil.json", "runs/../../evil/record.json", "runs/a/b.sh", "x\\y"]
)
def test_names_that_lead_elsewhere_are_refused(archive, name):
    assert "no file of a bundle" in refusal(with_file(archive, name, b"{}"))
    assert "no file of a bundle" in refusal(altered(archive, also=[(name, b"{}")]))


def test_a_bomb_is_refused_before_it_takes_memory(archive, tmp_path):
    """A small archive of 200 MB of zeros, where the listing says 100 bytes."""
    about = {"sha256": "0" * 64, "bytes": 100}
    files = {**listed(archive)["files"], "data/big/manifest.json": about}
    listing = listed(archive, files=files, digest=contents.digest(files))
    bomb = altered(
        archive,
        also=[("data/big/manifest.json", bytes(200 * 2**20))],
        **{contents.LISTING: json.dumps(listing).encode()},
    )
    assert bomb.stat().st_size < 10**6
    program = (
        "import resource, sys; from pathlib import Path; from paragone.records.bundles import unpack\n"
        "from paragone.base.errors import UserError\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    unpack.read(Path(sys.argv[1]))\nexcept UserError as error:\n    print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    scripts = Path(bundle.__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", program, bomb],
        capture_output=True,
        text=True,
        cwd=scripts,
        check=True,
    )
    words, grown = done.stdout.splitlines()
    assert "unpacks to more than it says" in words
    assert int(grown) < 100 * 1024  # KiB


def test_a_listing_of_too_much_is_refused(archive):
    files = {**listed(archive)["files"]}
    files[contents.CONFIG] = {**files[contents.CONFIG], "bytes": unpack.MOST}
    listing = listed(archive, files=files, digest=contents.digest(files))
    changed = altered(archive, **{contents.LISTING: json.dumps(listing).encode()})
    assert "more than 1024 MiB" in refusal(changed)


def test_arrays_that_are_a_bomb_are_refused(results, archive, monkeypatch):
    monkeypatch.setattr(unpack, "MOST", 2**20)
    path = archive.with_name("big.npz")
    np.savez_compressed(path, zeros=np.zeros(2**18))
    name = f"runs/{RUN}/predictions.npz"
    assert "predictions.npz: unpacks to more" in refusal(
        with_file(archive, name, path.read_bytes())
    )


def test_a_name_that_is_there_twice_is_refused(archive):
    with pytest.warns(UserWarning, match="Duplicate name"):
        changed = altered(archive, also=[(RECORD, b"{}")])
    assert "twice" in refusal(changed)


def test_a_missing_file_is_refused(archive):
    assert f"{RECORD} is missing" in refusal(altered(archive, names=[RECORD]))


def test_the_program_checks_and_says_what_is_there(archive, capsys, tmp_path):
    bundle.main(["check", str(archive)])
    assert "1 runs on node-1" in capsys.readouterr().out
    shutil.copy(archive, tmp_path / "cut.zip")
    (tmp_path / "cut.zip").write_bytes(archive.read_bytes()[:-30])
    with pytest.raises(SystemExit):
        bundle.main(["check", str(tmp_path / "cut.zip")])
    assert capsys.readouterr().err.startswith("error: ")


def test_other_files_are_not_packed(results, tmp_path):
    (results / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"notes\.txt: not a file of a bundle"):
        pack.pack(results, [results / "notes.txt"], {}, {}, LICENSE, tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()
