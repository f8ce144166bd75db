"""What fails in a folder of one's own as it runs: one message with file and line."""

import copy
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from documents import example, line_of
from snakemake.utils import update_config
from workspace import CONFIG, call, refused, train_command

from paragone.base import plugins
from paragone.base.errors import UserError, as_user_error
from paragone.config.expand import expand
from paragone.config.run_spec import Spec
from paragone.training.clocks import Ledger
from paragone.training.worker import of_own_model

EXAMPLE = example("digits")
ENGINE, TORCH = "my_folder/engines/my_numpy.py", "my_folder/models/torch.py"


def at(file: str, words: str) -> str:
    """File and line of these words in the example, as a message has them."""
    return f"{file}, line {line_of(EXAMPLE[file], words)}: "


@pytest.fixture
def config() -> dict:
    """The example's config, on Fashion-MNIST: its arrays are there."""
    made = copy.deepcopy(CONFIG)
    update_config(made, yaml.safe_load(EXAMPLE["my_question.yaml"]))
    made["workloads"]["my-digits"] |= {"dataset": "fashion_mnist", "epochs": 1}
    made["experiments"]["my_question"] |= {"repeats": 1, "steps_per_epoch": 2}
    return made


def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **edits: tuple[str, str]) -> Path:
    """The example's folder; `edits` by file name without its suffix: what is replaced by what."""
    for name, content in EXAMPLE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        old, new = edits.get(path.stem, ("", "")) if path.suffix == ".py" else ("", "")
        assert old in content
        path.write_text(content.replace(old, new, 1) if old else content)
    monkeypatch.setenv("PARAGONE_PLUGINS", str(tmp_path / "my_folder"))
    return tmp_path / "my_folder"


def spec_of(config: dict, backend: str) -> Spec:
    return next(spec for spec in expand(config, "my_question") if spec.backend.name == backend)


# Backend, file without suffix, what is replaced by what, and the words of the message.
FAILURES = {
    "no method": (
        "my-numpy",
        {"my_numpy": ("def warm_up", "def warm")},
        ["engines/my_numpy.py: ENGINE has no warm_up; every engine has the methods of `Engine`"],
    ),
    "engine raises": (
        "my-numpy",
        {"my_numpy": ("        totals = np.zeros(3)\n", "        totals = 1 / 0\n")},
        [at(ENGINE, "totals = np") + "ZeroDivisionError: division by zero"],
    ),
    "model raises": (
        "torch",
        {"torch": ("nn.ReLU()", "nn.ReLu()")},
        [at(TORCH, "nn.ReLU") + "AttributeError", "has no attribute 'ReLu'"],
    ),
    "options that the model has not": (
        "torch",
        {"torch": ("classes: int, hidden: int", "classes: int, width: int")},
        ["workloads.my-digits.model", "hidden"],
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_one_message(small, config, tmp_path, monkeypatch, failure):
    backend, edits, words = FAILURES[failure]
    write(tmp_path, monkeypatch, **edits)
    done = call(train_command(spec_of(config, backend), small, tmp_path / "run"))
    refused(done, *words)
    assert not (tmp_path / "run/record.json").exists()


def test_an_error_names_a_line_of_the_plugin_and_of_nothing_else(config, tmp_path, monkeypatch):
    """Also if a library raised it; a package in the user's folder is no part of the plugin."""
    folder = write(tmp_path, monkeypatch, my_figure=('["run", "backend"', '["rnu", "backend"'))
    file = folder / "reporting/figures/my_figure.py"
    with pytest.raises(TypeError) as error:
        runpy.run_path(str(file))["points"](SimpleNamespace(runs={}))
    line = line_of(file.read_text(), '"rnu"')
    assert str(as_user_error(error.value)).startswith(f"{file}, line {line}: TypeError: ")
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


def test_layers_that_do_not_fit_are_told_with_the_framework_s_traceback(
    small, config, tmp_path, monkeypatch
):
    write(tmp_path, monkeypatch, torch=("nn.Linear(hidden,", "nn.Linear(hidden + 1,"))
    done = call(train_command(spec_of(config, "torch"), small, tmp_path / "run"))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "models/torch.py: model 'my-mlp' on backend torch: RuntimeError" in error
    assert Path(error.rpartition("the traceback is in ")[2]).read_text().startswith("Traceback")
