"""Where data come from: mirrors, addresses, the synthetic fallback, and every way to go wrong."""

import json
import shutil
from pathlib import Path

import pytest
from data_programs import DATASETS, FASHION_FILES, fetch
from faults.lying_server import honest, serving
from workspace import refused

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
    return json.loads((results / "source.json").read_text()) | {"printed": done.stderr}


def test_mirror_folder_is_used_in_place(mirror, tmp_path):
    for mirrors in (str(mirror), mirror.as_uri()):
        of_mirror = source("fashion_mnist", tmp_path / "results", mirrors)
        assert (of_mirror["source"], of_mirror["origin"]) == ("real", "mirror folder")
        assert {file["name"]: file["sha256"] for file in of_mirror["files"]} == FASHION_FILES
        assert {Path(file["path"]).parent for file in of_mirror["files"]} == {
            mirror / "fashion_mnist"
        }
        assert not (tmp_path / "data/raw").exists()


def test_mirrors_of_the_config_come_first_and_one_without_the_data_is_passed_over(
    copied, mirror, tmp_path
):
    results = tmp_path / "results"
    (file,) = source("reuters", results, str(mirror), mirrors=[str(copied)])["files"]
    assert Path(file["path"]).is_relative_to(copied)
    shutil.rmtree(copied / "fashion_mnist")
    assert source("fashion_mnist", results, f"{copied};{mirror}")["source"] == "real"


def test_url_mirror_is_downloaded_once_and_checked_and_synthetic_data_never_are(mirror, tmp_path):
    """Lies of a server: tests/faults/test_mirrors.py."""
    options = {"source": "real", "block": LOCAL}
    with serving(honest, (mirror / "reuters/reuters.npz").read_bytes()) as server:
        url = f"http://{server.address}"
        made = source("reuters", tmp_path / "none", url, source="synthetic")
        assert (made["source"], server.paths) == ("synthetic", [])
        assert source("reuters", tmp_path / "first", url, **options)["origin"] == f"{url}/reuters"
        again = source("reuters", tmp_path / "second", url, **options)
        assert server.paths == ["/reuters/reuters.npz"]
    assert (again["origin"], again["edition"]) == ("downloaded before", "mirrored")
    stored = [path.name for path in (tmp_path / "data/raw/reuters").rglob("*")]
    assert stored == ["mirrored", "reuters.npz"]


@pytest.mark.parametrize("policy", ["auto", "real"])
def test_wrong_checksum_never_falls_back(copied, tmp_path, policy):
    file = copied / "fashion_mnist/t10k-labels-idx1-ubyte.gz"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    done = fetch("fashion_mnist", tmp_path, tmp_path / "data", str(copied), source=policy)
    refused(done, file.name, FASHION_FILES[file.name], "wrong checksum", "found", str(copied))
    assert not [*tmp_path.glob("source.json"), *(tmp_path / "data").rglob("*.gz")]


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
        ("/no-such-folder", "real", ["folder /no-such-folder does not exist", "PARAGONE_MIRRORS"]),
        ("", "real", ["no real reuters", "PARAGONE_MIRRORS", "data.source"]),
        ("http://127.0.0.1:9", "real", ["http://127.0.0.1:9", "no connection"]),
    ],
)
def test_no_place_with_real_data_is_an_error(tmp_path, mirrors, policy, words):
    done = fetch("reuters", tmp_path, tmp_path / "data", mirrors, block=LOCAL, source=policy)
    refused(done, *words)


def test_synthetic_data_are_loud_where_real_were_wanted(tmp_path):
    fallback = source("reuters", tmp_path / "results", block=LOCAL)
    assert "NOTICE: SYNTHETIC DATA in place of reuters" in fallback["printed"]
    assert fallback["source"] == fallback["edition"] == "synthetic"


def test_data_folder_that_cannot_be_written_is_an_error(mirror, tmp_path):
    file = tmp_path / "a-file"
    file.write_text("not a folder")
    done = fetch("fashion_mnist", tmp_path, file / "data", str(mirror))
    refused(done, "data.folder", str(file / "data"))
