"""Mirrors that are slow, broken or lie, over real connections: one message, and whole files are kept."""

import hashlib
import json
import random
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from data_programs import CONFIG_DATA, DATASETS, fetch
from faults.lying_server import LIES, honest, serving
from workspace import call, command, refused

pytestmark = pytest.mark.full

CONTENT = random.Random(0).randbytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
EDITIONS = {"made": {"reuters.npz": SHA256}}
SECRET = "hunter2"


def get(tmp_path, *addresses: str, editions: dict = EDITIONS) -> subprocess.CompletedProcess:
    mirrors = ";".join(f"http://{address}" for address in addresses)
    block = {"editions": editions}
    return fetch("reuters", tmp_path, tmp_path / "data", mirrors, block, source="real")


def arrived(tmp_path) -> dict[str, bytes]:
    """The files in the store, by name."""
    files = (tmp_path / "data/raw").rglob("*")
    return {path.name: path.read_bytes() for path in files if path.is_file()}


WORDS = {
    "page": ["wrong checksum", SHA256, "a web page"],
    "circle": ["TooManyRedirects"],
    "broken": ["HTTPError 503"],
    "cut_off": ["ChunkedEncodingError"],
}


@pytest.mark.injects("mirrors that lie or break off")
@pytest.mark.parametrize("lie", WORDS)
def test_a_lie_is_one_message_and_never_data_and_the_next_mirror_is_asked(tmp_path, lie):
    with serving(LIES[lie], CONTENT) as bad, serving(honest, CONTENT) as good:
        refused(get(tmp_path, bad.address), *WORDS[lie])
        assert not (tmp_path / "source.json").exists()
        assert arrived(tmp_path) == {}
        done = get(tmp_path, bad.address, good.address)
        if lie == "page":
            return refused(done, "wrong checksum")
    assert done.returncode == 0, done.stderr
    origin = json.loads((tmp_path / "source.json").read_text())["origin"]
    assert origin.endswith(f"{good.address}/reuters")


@pytest.mark.injects("a download cut off")
def test_whole_files_of_an_interrupted_edition_are_not_downloaded_again(tmp_path):
    """The last of four files with the same content is cut off."""
    editions = {"made": dict.fromkeys("abcd", SHA256)}
    with serving(honest, CONTENT) as server:
        server.answer = lambda content: (LIES["cut_off"] if server.paths[3:] else honest)(content)
        refused(get(tmp_path, server.address, editions=editions), "ChunkedEncodingError")
        server.answer, server.paths = honest, []
        assert get(tmp_path, server.address, editions=editions).returncode == 0
        assert server.paths == ["/reuters/d"]
    assert arrived(tmp_path) == dict.fromkeys("abcd", CONTENT)


@pytest.mark.injects("a download that was killed, and a file that was damaged since")
def test_what_is_wrong_in_the_store_is_downloaded_again(tmp_path):
    folder = tmp_path / "data/raw/reuters/made"
    folder.mkdir(parents=True)
    (folder / "reuters.npz").write_bytes(CONTENT[:-1])
    (folder / "tmp0123").write_bytes(CONTENT[:-1])
    with serving(honest, CONTENT) as server:
        assert get(tmp_path, server.address).returncode == 0
    assert arrived(tmp_path) == {"reuters.npz": CONTENT}


@pytest.mark.injects("two processes that fetch into one folder")
def test_two_processes_fetch_into_one_folder_at_once(tmp_path):
    """The first downloads; the second says that it waits, and finds the files."""

    def slowly(content):
        time.sleep(1)
        return honest(content)

    with serving(slowly, CONTENT) as server:
        data = CONFIG_DATA | {"folder": str(tmp_path / "data"), "source": "real"}
        data["mirrors"] = [f"http://{server.address}"]
        block = DATASETS["reuters"] | {"editions": EDITIONS}
        options = {"data": data, "block": block}
        outputs = [tmp_path / "first.json", tmp_path / "second.json"]
        lines = [command("fetch", dataset="reuters", source=path, **options) for path in outputs]
        with ThreadPoolExecutor(2) as pool:
            both = [*pool.map(call, lines)]
        assert [done.returncode for done in both] == [0, 0], both
        assert len(server.paths) == 1
    assert sum("waiting: process " in done.stderr for done in both) == 1
    sources = [json.loads(path.read_text()) for path in outputs]
    assert len({source["files"][0]["path"] for source in sources}) == 1


@pytest.mark.injects("a password in a mirror's address")
def test_the_password_of_a_mirror_is_never_shown(tmp_path):
    for name, answer in {"honest": honest, **LIES}.items():
        folder = tmp_path / name
        with serving(answer, CONTENT) as server:
            done = get(folder, f"user:{SECRET}@{server.address}")
        assert done.returncode == int(name != "honest")
        texts = [done.stdout, done.stderr, *(path.read_text() for path in folder.glob("*.json"))]
        assert server.address in "".join(texts)
        assert SECRET not in "".join(texts)
