"""Mistakes in a folder of one's own: one message with the file, the line and what to do."""

import copy
import importlib
import os
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from documents import EXAMPLE, at
from snakemake.utils import update_config
from workspace import (
    CONFIG,
    ROOT,
    call,
    config_of,
    error_in,
    refused,
    refusing,
    train_command,
    write_files,
)

from paragone.base import plugins
from paragone.base.errors import UserError, as_user_error
from paragone.config.engines import Exhibit
from paragone.config.expand import expand
from paragone.config.narrow import narrow
from paragone.config.run_spec import Spec
from paragone.config.validate import validate
from paragone.plan.exhibits import rows

QUESTION = "my_question.yaml"
MODEL, ENGINE = "my_folder/models/torch.py", "my_folder/engines/my_numpy.py"
TOML = "my_folder/plugin.toml"
FIGURE = "my_folder/reporting/figures/my_figure.py"
CAPTION = FIGURE.replace(".py", ".rst")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A user's working directory with the example of docs/extending.md, examples/digits/."""
    write_files(tmp_path, EXAMPLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARAGONE_PLUGINS", "")
    return tmp_path


def configured() -> dict:
    config = copy.deepcopy(CONFIG)
    update_config(config, yaml.safe_load(Path(QUESTION).read_text()))
    return config


def read() -> dict[str, Exhibit]:
    """What the workflow reads of my_question.yaml before it runs anything: the rows of figures."""
    config = configured()
    plugins.use(config["plugins"])
    narrow(validate(config))
    return rows("figures", ("runs", "epochs"))


def edit(name: str, old: str, new: str) -> None:
    """Replace what is in a file of the user once."""
    text = Path(name).read_text()
    assert old in text
    Path(name).write_text(text.replace(old, new, 1))


# What is edited, (file, old, new), and the words of the message.
MISTAKES = [
    (QUESTION, "[my_folder]", "[my_foldr]", "there is no folder 'my_foldr'"),
    (QUESTION, "only: [my_question]", "only: [mine]", "only: there is no 'mine'; known are"),
    (TOML, '"one worker"', '"one wrker"', TOML, '"one wrker" is not one of "one worker"'),
    (TOML, "engines.my_numpy", "engines.mine", ENGINE, "[engines.my_numpy]"),
    (TOML, "[engines", "engines", TOML, "line 2"),
    (TOML, "figures.my", "figures.your", FIGURE, "[figures.my_figure]"),
    (TOML, '"runs"', '"rns"', TOML, "figures.my_figure reads 'rns', which is none of runs, epochs"),
    (QUESTION, "[my_folder]", f"['a{os.pathsep}b']", "':' in its path; rename it"),
    (QUESTION, "[my_folder]", "[my_folder, empty]", "no Python file in models/, engines/"),
]


@pytest.mark.parametrize(
    ("file", "old", "new", "words"), [(a, b, c, d) for a, b, c, *d in MISTAKES]
)
def test_one_message_before_any_run(folder, file, old, new, words):
    for name in ("empty", f"a{os.pathsep}b"):
        Path(name).mkdir()
    edit(file, old, new)
    with refusing(*words):
        read()


def test_a_figure_without_its_caption_is_refused(folder):
    Path(CAPTION).unlink()
    with refusing(CAPTION, "is missing; write the caption of my_figure there"):
        read()


# Files that are added, by the file that is copied there, and the words of the message.
ADDED = {
    "my_folder/engines/torch.py": (ENGINE, ["my_folder/engines/torch.py", "cannot replace"]),
    "my_folder/engines/torch_optimizers.py": (ENGINE, ["torch_optimizers.py", "cannot replace"]),
    "my_folder/engines/My-NumPy.py": (ENGINE, ["a module is named with", "rename it"]),
    "my_folder/models/__init__.py": (MODEL, ["the project has this package; remove it"]),
    "my_folder/envs/torch.yaml": (QUESTION, ["has the name of", str(ROOT / "envs/torch.yaml")]),
    "other/engines/my_numpy.py": (ENGINE, ["other/engines/my_numpy.py has the name of", ENGINE]),
}


@pytest.mark.parametrize("added", ADDED)
def test_names_that_are_taken_or_impossible(folder, added):
    source, words = ADDED[added]
    write_files(folder, {"other/models/_helpers.py": "", added: Path(source).read_text()})
    edit(QUESTION, "[my_folder]", "[my_folder, other]")
    with refusing(*words):
        read()


def test_what_is_read_and_what_is_passed_over(folder):
    """Locks of an editor are links to nowhere; another system's hidden files are no text."""
    Path("my_folder/engines/.#my_numpy.py").symlink_to("user@host:5")
    Path("my_folder/reporting/figures/._my_figure.py").write_bytes(b"\0\xff")
    Path(MODEL).write_text(Path(MODEL).read_text(), encoding="utf-8-sig")
    write_files(folder, {"my_folder/reporting/figures/clocks.rst": "Mine."})
    edit(QUESTION, "[my_folder]", "[my_folder, ./my_folder/../my_folder]")
    assert read() == {"my_figure": Exhibit("accuracy at the end", ("runs",))}
    assert plugins.folders() == [folder / "my_folder"]
    assert plugins.caption("figures", "clocks") is None  # a caption alone replaces nothing
    assert plugins.caption("figures", "my_figure") == str(folder / CAPTION)


def spec_of(backend: str) -> Spec:
    """A run of the example on Fashion-MNIST, whose arrays are there."""
    config = configured()
    config["workloads"]["my-digits"] |= {"dataset": "fashion_mnist", "epochs": 1}
    config["experiments"]["my_question"] |= {"repeats": 1, "steps_per_epoch": 2}
    plugins.use(config["plugins"])
    return next(
        spec for spec in expand(config_of(config), "my_question") if spec.backend.name == backend
    )


TRACEBACK = "the traceback is in "
# What is found at the first job, where a file is imported with its framework.
# Backend; file, what is replaced there by what; and the words of the message.
FAILURES = [
    ("torch", MODEL, "import math", "import (math", at(MODEL, "import math"), "correct it"),
    ("torch", MODEL, "MODELS", "MODULES", MODEL, "has no `MODELS = {...}`; add it"),
    ("torch", MODEL, '"my-mlp"', '"my-mlp": my_mlp, "mlp"', "'mlp', which", "rename it"),
    (
        *("jax", "my_folder/models/jax.py", '"my-mlp"', '"my_mlp"'),
        "workloads.my-digits.model.name: backend jax has no model 'my-mlp'; it has ",
    ),
    ("my-numpy", ENGINE, "\nENGINE =", "\nENGIN =", "engines/my_numpy.py: has no `ENGINE`"),
    ("my-numpy", ENGINE, "def modes", "def mode", "my_numpy.py: ENGINE has no modes"),
    (
        *("my-numpy", ENGINE, "        totals = np.zeros(3)\n", "        totals = 1 / 0\n"),
        at(ENGINE, "totals = np") + "ZeroDivisionError: division by zero",
    ),
    ("torch", MODEL, "hidden: int", "width: int", "workloads.my-digits.model", "hidden"),
    (
        *("torch", MODEL, "nn.Linear(hidden,", "nn.Linear(hidden + 1,"),
        *("models/torch.py: model 'my-mlp' on backend torch: RuntimeError", TRACEBACK),
    ),
]


@pytest.mark.parametrize(
    ("backend", "file", "old", "new", "words"), [(*row[:4], row[4:]) for row in FAILURES]
)
def test_one_message_as_it_runs(small, folder, backend, file, old, new, words):
    edit(file, old, new)
    done = call(train_command(spec_of(backend), small, folder / "run"))
    refused(done, *words)
    assert not (folder / "run/record.json").exists()
    if TRACEBACK in words:
        file = Path(error_in(done.stderr).rpartition(TRACEBACK)[2])
        assert file.read_text().startswith("Traceback")


def test_an_error_names_a_line_of_the_plugin_and_of_nothing_else(folder):
    """Also if a library raised it; a package in the user's folder is no part of the plugin."""
    edit(FIGURE, '["run", "backend"', '["rnu", "backend"')
    plugins.use(["my_folder"])
    file = folder / FIGURE
    with pytest.raises(TypeError) as error:
        runpy.run_path(str(file))["points"](SimpleNamespace(runs={}))
    where = at(str(file), '"rnu"', file.read_text())
    assert str(as_user_error(error.value)).startswith(f"{where}TypeError: ")
    package = folder / "my_folder/.venv/lib/package.py"
    package.parent.mkdir(parents=True)
    package.write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError) as other:
        runpy.run_path(str(package))
    assert as_user_error(other.value) is None


def test_full_memory_and_disks_stay_what_they_are(folder):
    """An engine or `as_user_error` knows these errors, though a plugin's model raises them."""
    plugins.use(["my_folder"])
    file = folder / "my_folder/models/full.py"
    for error in ('RuntimeError("CUDA out of memory")', "MemoryError()", 'OSError(28, "no room")'):
        file.write_text(f"raise {error}\n")
        with pytest.raises((RuntimeError, MemoryError, OSError)), plugins.explaining():
            runpy.run_path(str(file))
    file.write_text("raise RuntimeError('shapes')\n")
    with pytest.raises(UserError, match=r"full\.py, line 1: RuntimeError"), plugins.explaining():
        runpy.run_path(str(file))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("torch.set_default_device('meta')", "the default device to meta"),
        ("torch.set_num_threads(7)", "the number of threads to 7"),
        ("torch.manual_seed(3)", "the seed, so that"),
        ("os.chdir('/')", "the working directory to /"),
    ],
)
def test_what_a_file_sets_for_the_whole_process_is_set_back(line, said, tmp_path, monkeypatch):
    importlib.import_module("paragone.models.torch")
    monkeypatch.setattr(plugins, "NOTICES", [])
    before = [value() for value, _ in plugins.SWITCHES.values()]
    (tmp_path / "own.py").write_text(f"import os, torch\n{line}\n")
    plugins._imported(tmp_path / "own.py")
    assert [value() for value, _ in plugins.SWITCHES.values()] == before
    assert plugins.NOTICES[0].startswith(f"{tmp_path}/own.py: sets {said}")


def test_a_switch_that_cannot_be_set_back_and_an_end_of_the_program_are_errors(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PARAGONE_PLUGINS", str(tmp_path))
    file = tmp_path / "models/ending.py"
    write_files(tmp_path, {"models/ending.py": "import sys\nsys.exit(2)\n"})
    with refusing(f"{file}, line 2: SystemExit: 2", "__main__"), plugins.explaining():
        plugins._imported(file)
    values = iter("ab")
    monkeypatch.setitem(plugins.SWITCHES, "a switch", (lambda: next(values), int))
    with refusing(f"{file}: sets a switch to b, which cannot be undone"), plugins.unchanged(file):
        pass
