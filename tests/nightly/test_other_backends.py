"""Faults of tests/faults on the other backends, ranks that are cut off, and odd homes of a run."""

import os
import subprocess

import pytest
from faults.killing import long_spec, message, started
from faults.test_strangers import listens
from privileged import needs_root
from workspace import INDUCTOR, make_spec, succeed, train_command

from paragone.records import record

OTHERS = ["tensorflow-mirrored", "torch-xla", "jax"]
NO_ROOM = 'mount -t tmpfs -o size=4k none /dev/shm && exec "$@"'
BOUND = 10  # seconds that the workers of these runs wait for each other
LAST = 120  # seconds in which a run has ended after that: some frameworks notice by their own clock


def one_step(backend: str):
    return make_spec("fashion-conv", backend, global_batch=200, epochs=1, steps_per_epoch=1)


@pytest.mark.injects("ports that others reach, secrets in the environment")
@pytest.mark.parametrize(
    "backend", ["torch-fsdp", "torch-xla", "tensorflow-mirrored", "tensorflow-multiworker"]
)
def test_what_a_run_listens_on(small, tmp_path, backend):
    listens(backend, small, tmp_path)


@pytest.mark.injects("an ASCII locale, umask 077, settings of Keras")
def test_a_run_heeds_the_umask_and_no_settings_of_keras(small, tmp_path):
    home = tmp_path / "home"
    (home / ".keras").mkdir(parents=True)
    (home / ".keras/keras.json").write_text('{"floatx": "float64", "backend": "jax"}')
    # Neither a locale nor UTF-8, as in a batch system.
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    line = train_command(one_step("tensorflow-mirrored"), small, tmp_path / "run", "launch")
    variables = {"HOME": str(home), "KERAS_BACKEND": "torch", **ascii_only}
    succeed(line, preexec_fn=lambda: os.umask(0o077), **variables)
    assert record.read(tmp_path / "run/record.json").status == "completed"
    for path in (tmp_path / "run").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.injects("a home that is absent or cannot be written")
@pytest.mark.injects("no room in /dev/shm")
@pytest.mark.parametrize(
    ("backend", "replicas", "home"),
    [
        ("torch-compile", 1, "/proc"),
        ("torch-ddp", 2, "/nonexistent"),
        *((backend, 2, home) for backend in OTHERS for home in ("/nonexistent", "/proc")),
    ],
)
def test_no_backend_needs_a_home_or_shared_memory(small, tmp_path, backend, replicas, home):
    needs_root("mounts another /dev/shm")
    small_shm = ["unshare", "--mount", "bash", "-c", NO_ROOM, "_"]
    spec = make_spec("fashion-cnn", backend, replicas, 200, epochs=2, steps_per_epoch=5)
    line = train_command(spec, small, tmp_path, "launch")
    succeed([*small_shm, *line], timeout=300, HOME=home)
    assert record.read(tmp_path / "record.json").status == "completed"


def test_a_program_is_compiled_once(small, tmp_path):
    cache = INDUCTOR | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    counts = []
    for name in ("first", "again"):
        line = train_command(one_step("torch-compile"), small, tmp_path / name)
        succeed(line, timeout=300, **cache)
        (process,) = record.read(tmp_path / name / "record.json").processes
        counts.append((process.programs.compiled, process.programs.cached))
    first, again = counts
    assert first[0] >= 2  # training and evaluation
    assert again == (0, sum(first))


@pytest.mark.injects("ranks cut off")
@pytest.mark.parametrize(
    "backend", ["torch-ddp", "torch-fsdp", "tensorflow-multiworker", "jax-multiprocess"]
)
def test_ranks_that_are_cut_off_end_the_run_in_its_bound(small, tmp_path, backend):
    """Their network is cut off in an epoch: nothing waits forever."""
    needs_root("makes a network namespace")
    own = ["unshare", "--net", "bash", "-c", 'ip link set lo up && exec "$@"', "_"]
    folder = tmp_path / "run"
    line = train_command(long_spec(backend, 2), small, folder, "launch", join_timeout=BOUND)
    with started([*own, *line], folder) as run:
        inside = ["nsenter", f"--net=/proc/{run.pid}/ns/net"]
        subprocess.run([*inside, "ip", "link", "set", "lo", "down"], check=True)
        assert run.wait(BOUND + LAST) == 1
    assert "of 2" in message(folder)
