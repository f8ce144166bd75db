"""Mistakes in a folder of one's own: one message with the file, the line and what to do, before any run."""

import copy
import os
import shutil
from pathlib import Path

import pytest
import snakemake_server
import yaml
from documents import files, line_of
from snakemake.utils import update_config
from workspace import CONFIG, ROOT, environment

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.config.expand import expand
from paragone.config.narrow import narrow
from paragone.config.own_files import check_named, rows
from paragone.config.validate import validate

EXAMPLE = files(ROOT / "docs/extending.md")
MODEL, ENGINE = "my_folder/models/torch.py", "my_folder/engines/my_numpy.py"
FIGURE = "my_folder/reporting/figures/my_figure.py"
CAPTION = FIGURE.replace(".py", ".rst")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A user's working directory with the example of docs/extending.md."""
    for name, content in EXAMPLE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARAGONE_PLUGINS", "")
    return tmp_path


def read() -> dict[str, dict]:
    """What the workflow reads of my_question.yaml before it runs anything: the rows of figures."""
    config = copy.deepcopy(CONFIG)
    update_config(config, yaml.safe_load(Path("my_question.yaml").read_text()))
    plugins.use(config["plugins"])
    validate(config)
    narrow(config)
    check_named(spec for name in config["experiments"] for spec in expand(config, name))
    return rows("figures", ("runs", "epochs"))


def edit(name: str, old: str, new: str) -> None:
    """Replace what is in a file of the user once."""
    text = Path(name).read_text()
    assert old in text
    Path(name).write_text(text.replace(old, new, 1))


def test_the_example_is_read(folder):
    assert read() == {"my_figure": {"label": "accuracy at the end", "reads": ("runs",)}}
    assert plugins.folders() == [folder / "my_folder"]


# What is edited, by (file, old, new), and the words of the message.
MISTAKES: dict[str, tuple[tuple[str, str, str], list[str]]] = {
    "no folder": (
        ("my_question.yaml", "[my_folder]", "[my_foldr]"),
        ["plugins: there is no folder 'my_foldr'", "correct it"],
    ),
    "no name": (("my_question.yaml", "[my_folder]", "[5]"), ["plugins.0: 5: 5 is not of type"]),
    "empty name": (("my_question.yaml", "[my_folder]", "['']"), ['plugins.0: "": ']),
    "syntax": ((MODEL, "import math", "import (math"), [f"{MODEL}, line 2: ", "correct it"]),
    "not text": ((MODEL, "import math", "\0"), [MODEL, "null bytes"]),
    "no table": ((MODEL, "MODELS", "MODULES"), [MODEL, "has no `MODELS = {...}`; add it"]),
    "computed table": (
        (MODEL, 'MODELS = {"my-mlp": my_mlp}', 'MODELS = dict([("my-mlp", my_mlp)])'),
        [f"{MODEL}, line {line_of(EXAMPLE[MODEL], 'MODELS = ')}: MODELS is computed; write it out"],
    ),
    "computed key": (
        (MODEL, '"my-mlp": my_mlp', '"my-mlp": my_mlp, **{}'),
        [f"{MODEL}, line {line_of(EXAMPLE[MODEL], 'MODELS = ')}: a key of MODELS is computed"],
    ),
    "model of the project": (
        (MODEL, '"my-mlp"', '"my-mlp": my_mlp, "fashion-cnn"'),
        [
            MODEL,
            "MODELS",
            "'fashion-cnn', which",
            "scripts/paragone/models/torch.py has",
            "rename it",
        ],
    ),
    "no model in one framework": (
        ("my_folder/models/jax.py", '"my-mlp"', '"my_mlp"'),
        [
            "workloads.my-digits.model.name: backend jax finds no 'my-mlp'",
            "add it in models/jax.py",
        ],
    ),
    "no model for the gate": (
        (MODEL, '"my-mlp"', '"my_mlp"'),
        ["workloads.my-digits.model.name: the parity gate finds no 'my-mlp'", "models/torch.py"],
    ),
    "unknown optimizer": (
        ("my_question.yaml", "name: sgd", "name: lion"),
        [
            "workloads.my-digits.optimizer.name",
            '"lion" is none of sgd, adam, nadam',
            "add its rule",
        ],
    ),
    "no STRATEGIES": (
        (ENGINE, "STRATEGIES", "_STRATEGIES"),
        [ENGINE, "does not declare STRATEGIES", "docs/extending.md#an-engine"],
    ),
    "unknown strategy": (
        (ENGINE, '"one worker"', '"one wrker"'),
        [ENGINE, "{'single': 'one wrker'}", "'one worker'"],
    ),
    "no BATCH_NORM": ((ENGINE, "BATCH_NORM", "BATCHNORM"), [ENGINE, "does not declare BATCH_NORM"]),
    "unknown BATCH_NORM": ((ENGINE, '"whole"', '"all"'), [ENGINE, "BATCH_NORM = 'all'", "whole"]),
    "no ENGINE": ((ENGINE, "\nENGINE =", "\nENGIN ="), [ENGINE, "has no `ENGINE = ...`", "add it"]),
    "no engine": (
        ("my_question.yaml", "engine: my_numpy", "engine: my_nump"),
        ["backends.my-numpy.engine: there is no engines/my_nump.py", "add it or name one"],
    ),
    "no ROW": ((FIGURE, "ROW =", "ROWS ="), [FIGURE, "has no `ROW = ", "add it"]),
    "computed ROW": (
        (FIGURE, "ROW = {", "ROW = {**{}, "),
        [
            f"{FIGURE}, line {line_of(EXAMPLE[FIGURE], 'ROW =')}: ROW is computed; write its value out"
        ],
    ),
    "ROW of another kind": ((FIGURE, '("runs",)', "5"), [FIGURE, "'reads': 5} is not like {"]),
    "ROW reads nothing known": (
        (FIGURE, '("runs",)', '("rns",)'),
        [FIGURE, "ROW reads 'rns', which is none of runs, epochs"],
    ),
    "no function": ((FIGURE, "def draw", "def drawn"), [FIGURE, "has no function `draw`"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_message(folder, mistake):
    change, words = MISTAKES[mistake]
    edit(*change)
    refused(*words)


def refused(*words: str) -> None:
    """One line of message holds all `words`."""
    with pytest.raises(UserError) as found:
        read()
    assert "\n" not in str(found.value)
    for word in words:
        assert word in str(found.value)


def test_a_caption_is_missing(folder):
    Path(CAPTION).unlink()
    refused(CAPTION, "is missing; write the caption of my_figure there")


def test_another_encoding(folder):
    Path(MODEL).write_bytes(b"# \xff\n")
    refused(MODEL, "save it as UTF-8")


def test_a_folder_that_holds_nothing(folder):
    Path("empty").mkdir()
    edit("my_question.yaml", "[my_folder]", "[my_folder, empty]")
    refused(str(folder / "empty"), "no Python file in models/, engines/", "docs/extending.md")


def test_a_module_of_the_project_cannot_be_replaced(folder):
    shutil.copy(ENGINE, "my_folder/engines/torch.py")
    refused(str(folder / "my_folder/engines/torch.py"), "cannot replace", "rename it")


def test_two_plugins_with_files_of_one_name(folder):
    shutil.copytree("my_folder", "other")
    edit("my_question.yaml", "[my_folder]", "[my_folder, other]")
    refused("other/engines/my_numpy.py has the name of", "my_folder/engines/my_numpy.py", "rename")


def test_two_plugins_with_models_of_one_name(folder):
    (folder / "other/models").mkdir(parents=True)
    shutil.copy(MODEL, "other/models/torch.py")
    edit("my_question.yaml", "[my_folder]", "[my_folder, other]")
    refused("MODELS of", "other/models/torch.py has 'my-mlp', which", "my_folder", "rename it")


def test_a_folder_named_twice_is_one(folder):
    edit("my_question.yaml", "[my_folder]", "[my_folder, ./my_folder/../my_folder]")
    read()
    assert plugins.folders() == [folder / "my_folder"]


def test_a_path_that_no_list_of_paths_can_hold(folder):
    (folder / f"a{os.pathsep}b").mkdir()
    edit("my_question.yaml", "[my_folder]", f"['a{os.pathsep}b']")
    refused("':' in its path; rename it")


def test_other_experiments_are_left_out(folder):
    config = copy.deepcopy(CONFIG)
    narrow(config)
    assert config == CONFIG
    narrow(config := copy.deepcopy(CONFIG) | {"only": ["weak_scaling"]})
    assert list(config["experiments"]) == ["weak_scaling"]
    assert config["primary"]["experiment"] == "weak_scaling"
    with pytest.raises(
        UserError, match="only: there is no experiment 'mine'; known are one_device"
    ):
        narrow(copy.deepcopy(CONFIG) | {"only": ["mine"]})


@pytest.mark.parametrize("change", [MISTAKES["syntax"][0], MISTAKES["computed ROW"][0]], ids=str)
def test_the_workflow_says_the_same_and_stops(folder, change):
    edit(*change)
    line = [
        "-s",
        str(ROOT / "Snakefile"),
        "all",
        "--cores",
        "1",
        "--configfile",
        "my_question.yaml",
    ]
    done = snakemake_server.call([*line, "--dry-run"], folder, environment())
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    assert f"config: {folder / change[0]}, line " in done.stdout
