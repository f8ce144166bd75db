"""Other users of the same host: what they can reach, and whose files are used."""

import os
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest
from data_programs import fetch, serialize
from faults.killing import long_spec, printed, started
from privileged import needs_root
from workspace import Arrays, call, environment, refused, train_command

from paragone.base.errors import UserError
from paragone.data import store
from paragone.engines import torch_compile

pytestmark = pytest.mark.full

SECRET = "correct-horse-battery-staple"
# TensorFlow's server of a worker binds every interface; docs/backends.md and a line of the run say so.
BEYOND = {"tensorflow-multiworker"}


@pytest.mark.injects("ports that others reach, secrets in the environment")
def test_on_one_host_nothing_listens_beyond_loopback_and_no_secret_is_kept(small, tmp_path):
    """Other backends: tests/nightly/test_other_backends.py."""
    listens("torch-ddp", small, tmp_path)


def listens(backend: str, small: Arrays, tmp_path: Path) -> None:
    """Start a run of two replicas and look at its sockets, its log and its files."""
    folder = tmp_path / "run"
    line = train_command(long_spec(backend, 2), small, folder, "launch")
    secrets = environment(AWS_SECRET_ACCESS_KEY=SECRET, GITHUB_TOKEN=SECRET)
    with started(line, folder, env=secrets) as run:
        family = [psutil.Process(run.pid), *psutil.Process(run.pid).children(recursive=True)]
        sockets = [each for process in family for each in process.net_connections("inet")]
        listening = {each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN}
        for path in [printed(folder), *folder.rglob("*.json")]:
            assert SECRET not in path.read_text(errors="replace"), path
        run.terminate()
        run.wait(60)
    beyond = {ip for ip in listening if not ip.startswith("127.") and ip != "::1"}
    assert bool(beyond) == (backend in BEYOND), beyond


ANOTHER_USER = pytest.mark.injects("files and folders of another user")


@ANOTHER_USER
def test_arrays_of_a_stranger_are_refused(fashion, tmp_path):
    """Only the user's own, root's and those of the owner of `data.folder` are used."""
    needs_root("gives a file to another user")
    data = tmp_path / "data"
    shutil.copytree(fashion.folder / "arrays", data / "arrays")
    os.chown(data, 1001, -1)

    def used(results: Path, owner: int) -> subprocess.CompletedProcess:
        """Find the arrays: real ones by `fetch`, made ones by `serialize`."""
        for path in (data / "arrays").iterdir():
            os.chown(path, owner, -1)
        done = fetch("fashion_mnist", results, data, source=fashion.source)
        return serialize(results, data) if done.returncode == 0 else done

    assert used(tmp_path / "first", 1001).returncode == 0, "the owner of the folder is trusted"
    refused(used(tmp_path / "second", 1002), "belongs to user 1002", "data.folder", "chown")


@ANOTHER_USER
@pytest.mark.parametrize("stranger", [False, True])
def test_a_rendezvous_and_compiled_programs_of_a_stranger_are_refused(
    small, tmp_path, monkeypatch, stranger
):
    """The programs would be executed. A folder that the user named keeps its mode."""
    needs_root("gives a folder to another user")
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    os.chown(folder, 1002 if stranger else 0, -1)
    options = {"rendezvous": folder, "join_timeout": 1}
    line = train_command(long_spec("torch-ddp", 2), small, tmp_path / "run", **options)
    done = call(line, RANK="0")
    assert done.returncode == 1
    assert ("belongs to another user" in done.stderr) == stranger
    folder.chmod(0o755)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder))
    with pytest.raises(UserError, match=str(folder)) if stranger else nullcontext():
        torch_compile.require_own_cache()
    assert folder.stat().st_mode & 0o777 == 0o755


@pytest.mark.injects("two users that share `data.folder`")
@pytest.mark.parametrize("mode", [0o775, 0o700])
def test_what_is_stored_has_the_mode_of_its_folder(tmp_path, mode):
    """Files of a shared folder are writable by its group; those of a private folder are private."""
    tmp_path.chmod(mode)
    with store.building(tmp_path / "stored") as partial:
        (partial / "a").write_text("a")
    assert (tmp_path / "stored").stat().st_mode & 0o777 == mode
