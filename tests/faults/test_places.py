"""Odd places: locales, umask, homes that cannot be written, names of folders."""

import subprocess

import pytest
from workspace import call, environment, make_spec, succeed, train_command

from paragone.data import store
from paragone.records import record

pytestmark = pytest.mark.full

# Neither a locale nor UTF-8, as in a batch system.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.injects(
    "5 time and place",
    "an ASCII locale, umask 077, settings of Keras",
    "environment, home and umask of a run",
)
@pytest.mark.nightly
def test_a_run_heeds_the_umask_and_no_settings_of_keras(small, tmp_path):
    """Neither those of a home nor of the environment."""
    spec = make_spec(
        "fashion-conv", "tensorflow-mirrored", global_batch=200, epochs=1, steps_per_epoch=1
    )
    home = tmp_path / "home"
    (home / ".keras").mkdir(parents=True)
    (home / ".keras/keras.json").write_text('{"floatx": "float64", "backend": "jax"}')
    line = train_command(spec, small, tmp_path / "run", "launch")
    done = subprocess.run(
        line,
        env=environment(HOME=str(home), KERAS_BACKEND="torch", **ASCII),
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
@pytest.mark.nightly
@pytest.mark.parametrize("home", ["/nonexistent", pytest.param("/proc", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("torch-compile", marks=pytest.mark.long),
        "tensorflow-mirrored",
        "torch-xla",
        "jax",
    ],
)
def test_no_backend_needs_a_home(small, tmp_path, backend, home):
    spec = make_spec("fashion-conv", backend, global_batch=200, epochs=1, steps_per_epoch=1)
    done = call(train_command(spec, small, tmp_path, "launch"), timeout=300, HOME=home)
    assert done.returncode == 0, done.stderr
    assert record.read(tmp_path / "record.json").status == "completed"


@pytest.mark.injects(
    "5 time and place", "two users that share `data.folder`", "modes of folders and files"
)
@pytest.mark.parametrize("mode", [0o775, 0o700])
def test_what_is_stored_has_the_mode_of_its_folder(tmp_path, mode):
    """Files of a shared folder are writable by its group; those of a private folder are private."""
    folder = tmp_path / "arrays"
    folder.mkdir()
    folder.chmod(mode)
    with store.building(folder / "one") as aside:
        (aside / "a").write_text("a")
    assert (folder / "one").stat().st_mode & 0o777 == mode


@pytest.mark.injects(
    "5 time and place",
    "folders with spaces, quotes, newlines, commands, 200 bytes",
    "where a run writes",
)
@pytest.mark.nightly
@pytest.mark.parametrize(
    "name",
    [
        "with space",
        "with'quote",
        'with"quote',
        "with\nnewline",
        "$(touch x)",
        "; touch x",
        "ü" * 100,
    ],
)
def test_a_run_in_an_odd_folder(small, tmp_path, name):
    spec = make_spec("fashion-conv", "torch", global_batch=200, epochs=1, steps_per_epoch=1)
    folder = tmp_path / name
    succeed(train_command(spec, small, folder, "launch"))
    assert sorted(path.name for path in folder.iterdir()) == ["predictions.npz", "record.json"]
