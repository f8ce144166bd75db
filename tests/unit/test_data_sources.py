"""Where data come from: mirrors, addresses, the synthetic fallback, and every way to go wrong."""

import json
import shutil
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from data_programs import DATASETS, FASHION_FILES, fetch, refused

# Without the official edition there is no official address to ask: tests need no network's absence.
LOCAL = {"editions": {"mirrored": DATASETS["reuters"]["editions"]["official"]}}


@pytest.fixture
def copied(mirror, tmp_path) -> Path:
    """A writable mirror with Fashion-MNIST and Reuters."""
    root = tmp_path / "copied"
    for dataset in ("fashion_mnist", "reuters"):
        shutil.copytree(mirror / dataset, root / dataset, copy_function=shutil.copyfile)
    return root


@pytest.fixture
def served(copied) -> Iterator[tuple[str, list[str]]]:
    """The copied mirror over HTTP, and the list of paths that were asked for."""
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(copied)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()


def _source(results: Path) -> dict:
    return json.loads((results / "source.json").read_text())


def test_mirror_folder_is_used_in_place(mirror, tmp_path):
    data = tmp_path / "data"
    assert fetch("fashion_mnist", tmp_path, data, str(mirror)).returncode == 0
    source = _source(tmp_path)
    assert (source["source"], source["origin"]) == ("real", "mirror folder")
    assert {file["name"]: file["sha256"] for file in source["files"]} == FASHION_FILES
    assert all(Path(file["path"]).parent == mirror / "fashion_mnist" for file in source["files"])
    assert not (data / "raw").exists()


def test_file_url_is_a_mirror_folder(mirror, tmp_path):
    done = fetch("reuters", tmp_path, tmp_path / "data", mirror.as_uri(), block=LOCAL)
    assert done.returncode == 0, done.stderr
    assert _source(tmp_path)["edition"] == "mirrored"


def test_mirror_of_the_config_comes_before_the_environment(copied, mirror, tmp_path):
    fetch("reuters", tmp_path, tmp_path / "data", str(mirror), mirrors=[str(copied)])
    (file,) = _source(tmp_path)["files"]
    assert Path(file["path"]).is_relative_to(copied)


def test_mirror_without_the_data_set_is_passed_over(copied, mirror, tmp_path):
    shutil.rmtree(copied / "fashion_mnist")
    done = fetch("fashion_mnist", tmp_path, tmp_path / "data", f"{copied};{mirror}")
    assert done.returncode == 0, done.stderr
    assert _source(tmp_path)["source"] == "real"


def test_url_mirror_is_downloaded_once_and_checked(served, tmp_path):
    url, asked = served
    for results in (tmp_path / "one", tmp_path / "two"):
        done = fetch("reuters", results, tmp_path / "data", url, source="real", block=LOCAL)
        assert done.returncode == 0, done.stderr
    assert asked == ["/reuters/reuters.npz"]
    assert _source(tmp_path / "one")["origin"] == f"{url}/reuters"
    assert _source(tmp_path / "two")["origin"] == "downloaded before"
    assert [path.name for path in (tmp_path / "data/raw/reuters").rglob("*")] == [
        "mirrored",
        "reuters.npz",
    ]


@pytest.mark.parametrize("policy", ["auto", "real"])
@pytest.mark.parametrize("over", ["folder", "http"])
def test_wrong_checksum_never_falls_back(copied, served, tmp_path, policy, over):
    file = copied / "fashion_mnist/t10k-labels-idx1-ubyte.gz"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    place = str(copied) if over == "folder" else served[0]
    done = fetch("fashion_mnist", tmp_path, tmp_path / "data", place, source=policy)
    refused(done, file.name, FASHION_FILES[file.name], "wrong checksum", "found", place)
    assert not (tmp_path / "source.json").exists()
    kept = list((tmp_path / "data").rglob("*.gz"))  # right ones, for the next call
    assert file.name not in {path.name for path in kept}
    assert {path.parent.name for path in kept} <= {".arriving"}


def test_unknown_edition_lists_the_known_ones(copied, tmp_path):
    (copied / "reuters/reuters.npz").write_bytes(b"another edition")
    done = fetch("reuters", tmp_path, tmp_path / "data", str(copied))
    editions = DATASETS["reuters"]["editions"]
    refused(done, *(f"{files['reuters.npz']} ({name})" for name, files in editions.items()))


def test_incomplete_mirror_is_an_error(copied, tmp_path):
    (copied / "fashion_mnist/train-labels-idx1-ubyte.gz").unlink()
    done = fetch("fashion_mnist", tmp_path, tmp_path / "data", str(copied))
    refused(done, "incomplete", "train-labels-idx1-ubyte.gz", str(copied))


@pytest.mark.parametrize("policy", ["auto", "real"])
def test_missing_mirror_folder_is_an_error(tmp_path, policy):
    gone = tmp_path / "no-such-folder"
    refused(
        fetch("fashion_mnist", tmp_path, tmp_path / "data", str(gone), source=policy),
        f"mirror folder {gone} does not exist",
        "PARAGONE_MIRRORS",
    )


def test_real_without_any_place_is_an_error(tmp_path):
    done = fetch("reuters", tmp_path, tmp_path / "data", source="real", block=LOCAL)
    refused(done, "no real reuters", "PARAGONE_MIRRORS", "data.source")


def test_unreachable_mirror_is_named(tmp_path):
    dead = "http://127.0.0.1:9"
    done = fetch("reuters", tmp_path, tmp_path / "data", dead, source="real", block=LOCAL)
    refused(done, dead, "no connection")


def test_auto_without_any_place_is_loudly_synthetic(tmp_path):
    done = fetch("reuters", tmp_path, tmp_path / "data", block=LOCAL)
    assert done.returncode == 0
    assert "NOTICE: SYNTHETIC DATA in place of reuters" in done.stderr
    assert _source(tmp_path)["source"] == _source(tmp_path)["edition"] == "synthetic"


def test_synthetic_does_not_look_for_data(served, tmp_path):
    url, asked = served
    done = fetch("fashion_mnist", tmp_path, tmp_path / "data", url, source="synthetic")
    assert done.returncode == 0
    assert asked == []
    assert _source(tmp_path)["source"] == "synthetic"


def test_data_folder_that_cannot_be_written_is_an_error(mirror, tmp_path):
    file = tmp_path / "a-file"
    file.write_text("not a folder")
    done = fetch("fashion_mnist", tmp_path, file / "data", str(mirror))
    refused(done, "data.folder", str(file / "data"))
