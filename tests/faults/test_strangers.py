"""Other users of the same host: what they can reach, and whose files are used."""

import os
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest
from privileged import needs_root
from unit.data_programs import fetch, refused, serialize
from workspace import Arrays, environment, make_spec, train_command, wait_for

from paragone.base.errors import UserError
from paragone.data import store
from paragone.engines import torch_compile

pytestmark = pytest.mark.full

SECRET = "correct-horse-battery-staple"
# TensorFlow's server of a worker binds every interface; docs/backends.md and a line of the run say so.
BEYOND = {"tensorflow-multiworker"}


def listening(run: subprocess.Popen) -> set[str]:
    """The addresses on which a run and all that it has started accept connections."""
    family = [psutil.Process(run.pid), *psutil.Process(run.pid).children(recursive=True)]
    sockets = [each for process in family for each in process.net_connections("inet")]
    return {each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN}


@pytest.mark.injects(
    "7 strangers",
    "ports that others reach, secrets in the environment",
    "sockets of a run listed; secrets looked for in logs and files",
    lost="nothing; TensorFlow's workers listen beyond, and say so",
)
def test_on_one_host_nothing_listens_beyond_loopback_and_no_secret_is_kept(small, tmp_path):
    """Other backends: tests/nightly/test_other_backends.py."""
    listens("torch-ddp", small, tmp_path)


def listens(backend: str, small: Arrays, tmp_path: Path) -> None:
    """Start a run of two replicas and look at its sockets, its log and its files."""
    spec = make_spec("fashion-cnn", backend, 2, global_batch=200, epochs=500, steps_per_epoch=10)
    line = train_command(spec, small, tmp_path / "run", "launch")
    variables = environment(AWS_SECRET_ACCESS_KEY=SECRET, GITHUB_TOKEN=SECRET)
    with (
        open(tmp_path / "log", "w") as log,
        subprocess.Popen(line, env=variables, stdout=log, stderr=log) as run,
    ):
        wait_for(lambda: list(tmp_path.glob("run/checkpoints/*/epoch-*")), run)
        beyond = {ip for ip in listening(run) if not ip.startswith("127.") and ip != "::1"}
        for path in [tmp_path / "log", *tmp_path.glob("run/**/*.json")]:
            assert SECRET not in path.read_text(errors="replace"), path
        run.terminate()
    assert bool(beyond) == (backend in BEYOND), beyond


ANOTHER_USER = pytest.mark.injects(
    "7 strangers", "files and folders of another user", "chown of arrays and of a rendezvous folder"
)


@ANOTHER_USER
def test_arrays_of_a_stranger_are_refused(fashion, tmp_path):
    """Only the user's own, root's and those of the owner of `data.folder` are used."""
    needs_root("gives a file to another user")
    data = tmp_path / "data"
    shutil.copytree(fashion.folder / "arrays", data / "arrays")

    def use(results: Path) -> subprocess.CompletedProcess:
        """Find the arrays: real ones by `fetch`, made ones by `serialize`."""
        done = fetch("fashion_mnist", results, data, source=fashion.source)
        return serialize(results, data) if done.returncode == 0 else done

    os.chown(data, 1001, -1)
    for path in (data / "arrays").iterdir():
        os.chown(path, 1001, -1)
    assert use(tmp_path / "one").returncode == 0, "those of the owner of the folder are used"
    for path in (data / "arrays").iterdir():
        os.chown(path, 1002, -1)
    done = use(tmp_path / "two")
    refused(done, "belongs to user 1002", "data.folder", "chown")


@ANOTHER_USER
@pytest.mark.parametrize("owner", ["own", "stranger"])
def test_a_rendezvous_of_a_stranger_is_refused(small, tmp_path, owner):
    needs_root("gives a folder to another user")
    meeting = tmp_path / "meeting"
    meeting.mkdir(mode=0o700)
    os.chown(meeting, 1002 if owner == "stranger" else 0, -1)
    spec = make_spec("fashion-cnn", "torch-ddp", 2, global_batch=200, epochs=1, steps_per_epoch=1)
    line = train_command(spec, small, tmp_path / "run", rendezvous=meeting, join_timeout=1)
    done = subprocess.run(
        line, env=environment(RANK="0"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert ("belongs to another user" in done.stderr) == (owner == "stranger")


@pytest.mark.parametrize("owner", ["own", "stranger"])
def test_compiled_programs_of_a_stranger_are_refused(tmp_path, monkeypatch, owner):
    """They would be executed. A folder that the user named keeps its mode."""
    needs_root("gives a folder to another user")
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o755)
    os.chown(cache, 1002 if owner == "stranger" else 0, -1)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
    with pytest.raises(UserError, match=str(cache)) if owner == "stranger" else nullcontext():
        torch_compile.require_own_cache()
    assert cache.stat().st_mode & 0o777 == 0o755


@pytest.mark.injects(
    "7 strangers", "two users that share `data.folder`", "modes of folders and files"
)
@pytest.mark.parametrize("mode", [0o775, 0o700])
def test_what_is_stored_has_the_mode_of_its_folder(tmp_path, mode):
    """Files of a shared folder are writable by its group; those of a private folder are private."""
    folder = tmp_path / "arrays"
    folder.mkdir()
    folder.chmod(mode)
    with store.building(folder / "one") as partial:
        (partial / "a").write_text("a")
    assert (folder / "one").stat().st_mode & 0o777 == mode
