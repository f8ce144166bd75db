"""Faults of tests/faults on the other backends, and odd places in which a run is started."""

import subprocess

import pytest
from faults.test_clocks_that_jump import clock, jumps  # noqa: F401 - a fixture
from faults.test_disk import full_disk
from faults.test_strangers import listens
from workspace import INDUCTOR, call, environment, make_spec, succeed, train_command

from paragone.records import record

OTHERS = ["tensorflow-mirrored", "torch-xla", "jax"]


def one_step(backend: str = "torch"):
    return make_spec("fashion-conv", backend, global_batch=200, epochs=1, steps_per_epoch=1)


@pytest.mark.injects(
    "5 time and place",
    "a wall clock that is set during a run, or before a killed one goes on",
    "an hour back or forward at the first checkpoint, by a preloaded clock",
)
@pytest.mark.parametrize(
    ("backend", "seconds", "killed"),
    [
        ("torch", 3600, False),
        ("torch", -3600, True),
        ("torch", 3600, True),
        ("tensorflow-mirrored", -3600, True),
        ("jax", -3600, True),
    ],
)
def test_a_clock_that_jumps(small, tmp_path, clock, backend, seconds, killed):  # noqa: F811
    jumps(backend, seconds, killed, small, tmp_path, clock)


@pytest.mark.injects(
    "2 disk and memory",
    "a disk that is full at a checkpoint",
    "a tmpfs, filled while the trainer is stopped; then room is made",
    lost="the epoch",
)
@pytest.mark.parametrize("backend", OTHERS)
def test_a_full_disk(small, tmp_path, backend):
    """TensorFlow calls it ResourceExhausted, as it calls a full memory."""
    full_disk(backend, small, tmp_path)


@pytest.mark.injects(
    "7 strangers",
    "ports that others reach, secrets in the environment",
    "sockets of a run listed; secrets looked for in logs and files",
    lost="nothing; TensorFlow's workers listen beyond, and say so",
)
@pytest.mark.parametrize(
    "backend", ["torch-fsdp", "torch-xla", "tensorflow-mirrored", "tensorflow-multiworker"]
)
def test_what_a_run_listens_on(small, tmp_path, backend):
    listens(backend, small, tmp_path)


@pytest.mark.injects(
    "5 time and place",
    "an ASCII locale, umask 077, settings of Keras",
    "environment, home and umask of a run",
)
def test_a_run_heeds_the_umask_and_no_settings_of_keras(small, tmp_path):
    home = tmp_path / "home"
    (home / ".keras").mkdir(parents=True)
    (home / ".keras/keras.json").write_text('{"floatx": "float64", "backend": "jax"}')
    # Neither a locale nor UTF-8, as in a batch system.
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        train_command(one_step("tensorflow-mirrored"), small, tmp_path / "run", "launch"),
        env=environment(HOME=str(home), KERAS_BACKEND="torch", **ascii_only),
        umask=0o077,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert record.read(tmp_path / "run/record.json").status == "completed"
    for path in (tmp_path / "run").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.injects(
    "5 time and place", "a home that is absent or cannot be written", "HOME of a run"
)
@pytest.mark.parametrize("home", ["/nonexistent", "/proc"])
@pytest.mark.parametrize("backend", ["torch-compile", *OTHERS])
def test_no_backend_needs_a_home(small, tmp_path, backend, home):
    line = train_command(one_step(backend), small, tmp_path, "launch")
    done = call(line, timeout=300, HOME=home)
    assert done.returncode == 0, done.stderr
    assert record.read(tmp_path / "record.json").status == "completed"


@pytest.mark.injects(
    "5 time and place",
    "folders with spaces, quotes, newlines, commands, 200 bytes",
    "where a run writes",
)
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
        done = call(train_command(spec, small, tmp_path / name), timeout=300, **cache)
        assert done.returncode == 0, done.stderr
        (process,) = record.read(tmp_path / name / "record.json").processes
        return process.programs.compiled, process.programs.cached

    first, again, other = programs("first", 50), programs("again", 50), programs("other", 100)
    assert first[0] >= 2  # training and evaluation
    assert again == (0, first[0] + first[1])
    assert other[0] >= 2
