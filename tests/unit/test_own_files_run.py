"""What fails in a folder of one's own as it runs: one message with file and line."""

import copy
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from documents import EXAMPLE, at
from snakemake.utils import update_config
from workspace import CONFIG, call, error_in, refused, train_command, write_files

from paragone.base import plugins
from paragone.base.errors import UserError, as_user_error
from paragone.config.expand import expand
from paragone.config.run_spec import Spec
from paragone.training.clocks import Ledger
from paragone.training.worker import of_own_model

ENGINE, TORCH = "my_folder/engines/my_numpy.py", "my_folder/models/torch.py"
FIGURE = "my_folder/reporting/figures/my_figure.py"
TRACEBACK = "the traceback is in "


@pytest.fixture
def config() -> dict:
    """The example's config, on Fashion-MNIST: its arrays are there."""
    made = copy.deepcopy(CONFIG)
    update_config(made, yaml.safe_load(EXAMPLE["my_question.yaml"]))
    made["workloads"]["my-digits"] |= {"dataset": "fashion_mnist", "epochs": 1}
    made["experiments"]["my_question"] |= {"repeats": 1, "steps_per_epoch": 2}
    return made


def write(tmp_path, monkeypatch, file: str = ENGINE, old: str = "", new: str = "") -> Path:
    """The example's folder, in which `new` replaces `old` in a file once."""
    assert old in EXAMPLE[file]
    write_files(tmp_path, {**EXAMPLE, file: EXAMPLE[file].replace(old, new, 1)})
    monkeypatch.setenv("PARAGONE_PLUGINS", str(tmp_path / "my_folder"))
    return tmp_path / "my_folder"


def spec_of(config: dict, backend: str) -> Spec:
    return next(spec for spec in expand(config, "my_question") if spec.backend.name == backend)


# Backend; file, what is replaced there by what; and the words of the message.
FAILURES = {
    "no engine": (
        "my-numpy",
        (ENGINE, "\nENGINE =", "\nENGIN ="),
        ["engines/my_numpy.py: has no `ENGINE`, which the project calls; add it"],
    ),
    "no method": (
        "my-numpy",
        (ENGINE, "def warm_up", "def warm"),
        ["engines/my_numpy.py: ENGINE has no warm_up; every engine has the methods of `Engine`"],
    ),
    "engine raises": (
        "my-numpy",
        (ENGINE, "        totals = np.zeros(3)\n", "        totals = 1 / 0\n"),
        [at(ENGINE, "totals = np") + "ZeroDivisionError: division by zero"],
    ),
    "model raises": (
        "torch",
        (TORCH, "nn.ReLU()", "nn.ReLu()"),
        [at(TORCH, "nn.ReLU") + "AttributeError", "has no attribute 'ReLu'"],
    ),
    "options that the model has not": (
        "torch",
        (TORCH, "classes: int, hidden: int", "classes: int, width: int"),
        ["workloads.my-digits.model", "hidden"],
    ),
    "layers that do not fit": (
        "torch",
        (TORCH, "nn.Linear(hidden,", "nn.Linear(hidden + 1,"),
        ["models/torch.py: model 'my-mlp' on backend torch: RuntimeError", TRACEBACK],
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_one_message(small, config, tmp_path, monkeypatch, failure):
    backend, change, words = FAILURES[failure]
    write(tmp_path, monkeypatch, *change)
    done = call(train_command(spec_of(config, backend), small, tmp_path / "run"))
    refused(done, *words)
    assert not (tmp_path / "run/record.json").exists()
    if TRACEBACK in words:
        file = Path(error_in(done.stderr).rpartition(TRACEBACK)[2])
        assert file.read_text().startswith("Traceback")


def test_an_error_names_a_line_of_the_plugin_and_of_nothing_else(config, tmp_path, monkeypatch):
    """Also if a library raised it; a package in the user's folder is no part of the plugin."""
    edit = (FIGURE, '["run", "backend"', '["rnu", "backend"')
    folder = write(tmp_path, monkeypatch, *edit)
    file = tmp_path / FIGURE
    with pytest.raises(TypeError) as error:
        runpy.run_path(str(file))["points"](SimpleNamespace(runs={}))
    where = at(str(file), '"rnu"', file.read_text())
    assert str(as_user_error(error.value)).startswith(f"{where}TypeError: ")
    package = folder / ".venv/lib/package.py"
    package.parent.mkdir(parents=True)
    package.write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError) as other:
        runpy.run_path(str(package))
    assert as_user_error(other.value) is None
    with pytest.raises(KeyError) as error:  # of the project, not of a model
        Ledger().add({"no such clock": 1.0})
    assert of_own_model(error.value, spec_of(config, "torch")) is None


def test_full_memory_and_disks_stay_what_they_are(tmp_path, monkeypatch):
    """An engine or `as_user_error` knows these errors, though a plugin's model raises them."""
    file = write(tmp_path, monkeypatch) / "models/full.py"
    for error in ('RuntimeError("CUDA out of memory")', "MemoryError()", 'OSError(28, "no room")'):
        file.write_text(f"raise {error}\n")
        with pytest.raises((RuntimeError, MemoryError, OSError)), plugins.explaining():
            runpy.run_path(str(file))
    file.write_text("raise RuntimeError('shapes')\n")
    with pytest.raises(UserError, match=r"full\.py, line 1: RuntimeError"), plugins.explaining():
        runpy.run_path(str(file))
