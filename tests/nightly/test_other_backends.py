"""Faults of tests/faults on the other backends, and odd places in which a run is started."""

import os
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest
from faults.killing import EPOCHS, broken, long_spec, started
from faults.test_disks import full_disk
from faults.test_strangers import listens
from msgspec.structs import asdict
from privileged import needs_root
from workspace import INDUCTOR, environment, make_spec, succeed, train_command

from paragone.analysis import compliance
from paragone.records import record

OTHERS = ["tensorflow-mirrored", "torch-xla", "jax"]
NO_ROOM = 'mount -t tmpfs -o size=4k none /dev/shm && exec "$@"'


def one_step(backend: str = "torch"):
    return make_spec("fashion-conv", backend, global_batch=200, epochs=1, steps_per_epoch=1)


@pytest.fixture(scope="module")
def clock(tmp_path_factory) -> Path:
    """The library whose clocks jump."""
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    source = Path(__file__).with_name("jumping_clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.injects("a wall clock that is set during a run, or before a killed one goes on")
@pytest.mark.parametrize(
    ("backend", "seconds", "killed"),
    [
        ("torch", -3600, False),
        ("torch", 3600, True),
        ("tensorflow-mirrored", -3600, True),
        ("jax", -3600, True),
    ],
)
def test_a_clock_that_jumps(small, tmp_path, clock, backend, seconds, killed):
    """It jumps after the first checkpoint. No duration changes, and the record is valid."""
    folder, file = tmp_path / "run", tmp_path / "jump"
    # Without the launcher, which does not pass on preloaded libraries.
    line = train_command(long_spec(backend, epochs=EPOCHS), small, folder)
    jump = {"JUMP_FILE": str(file), "JUMP_SECONDS": str(seconds)}
    variables = environment(LD_PRELOAD=str(clock), **jump)
    begun = time.monotonic()
    with started(line, folder, env=variables) as run:
        file.touch()
        if not killed:
            assert run.wait(120) == 0
    if killed:
        subprocess.run(line, env=variables, stdout=subprocess.DEVNULL, check=True)
    took = time.monotonic() - begun
    made = record.read(folder / "record.json")
    assert made.status == "completed"
    assert len(made.epochs) == EPOCHS
    parts = [*asdict(made.clocks).values()]
    parts += [epoch.train_seconds for epoch in made.epochs]
    parts += [process.age for process in made.processes]
    assert all(0 <= part < took for part in parts if part is not None)
    assert broken(made, compliance.INVALID) == {"requested"}, (
        "a preloaded library is no part of a tuning"
    )
    first, last = made.processes[0], made.processes[-1]
    assert len(made.processes) == 1 + killed
    apart = datetime.fromisoformat(last.ended) - datetime.fromisoformat(first.started)
    assert abs(apart.total_seconds() - seconds) < took, "the run has seen no jump"


@pytest.mark.injects("a disk that is full at a checkpoint")
@pytest.mark.parametrize("backend", OTHERS)
def test_a_full_disk(small, tmp_path, backend):
    """TensorFlow calls it ResourceExhausted, as it calls a full memory."""
    full_disk(backend, small, tmp_path)


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
@pytest.mark.parametrize("home", ["/nonexistent", "/proc"])
@pytest.mark.parametrize("backend", ["torch-compile", *OTHERS])
def test_no_backend_needs_a_home(small, tmp_path, backend, home):
    succeed(train_command(one_step(backend), small, tmp_path, "launch"), timeout=300, HOME=home)
    assert record.read(tmp_path / "record.json").status == "completed"


@pytest.mark.injects("no room in /dev/shm")
@pytest.mark.parametrize(
    ("backend", "replicas"), [("torch", 1), ("torch-ddp", 2), *((name, 2) for name in OTHERS)]
)
def test_no_backend_needs_shared_memory(small, tmp_path, backend, replicas):
    needs_root("mounts another /dev/shm")
    small_shm = ["unshare", "--mount", "bash", "-c", NO_ROOM, "_"]
    spec = make_spec("fashion-cnn", backend, replicas, 200, epochs=2, steps_per_epoch=5)
    succeed([*small_shm, *train_command(spec, small, tmp_path, "launch")], timeout=300)
    assert record.read(tmp_path / "record.json").status == "completed"


@pytest.mark.injects("folders with spaces, quotes, newlines, commands, 200 bytes")
@pytest.mark.parametrize("name", ["with'\"quotes\nand line", "$(touch x); touch x", "ü" * 100])
def test_a_run_in_an_odd_folder(small, tmp_path, name):
    folder = tmp_path / name
    succeed(train_command(one_step(), small, folder, "launch"))
    assert sorted(path.name for path in folder.iterdir()) == ["predictions.npz", "record.json"]


def test_a_program_is_compiled_once_and_a_changed_one_anew(small, tmp_path):
    def programs(name: str, batch: int) -> tuple[int, int]:
        spec = make_spec(
            "fashion-conv", "torch-compile", global_batch=batch, epochs=1, steps_per_epoch=2
        )
        cache = INDUCTOR | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
        succeed(train_command(spec, small, tmp_path / name), timeout=300, **cache)
        (process,) = record.read(tmp_path / name / "record.json").processes
        return process.programs.compiled, process.programs.cached

    first, again, other = programs("first", 50), programs("again", 50), programs("other", 100)
    assert first[0] >= 2  # training and evaluation
    assert again == (0, first[0] + first[1])
    assert other[0] >= 2
