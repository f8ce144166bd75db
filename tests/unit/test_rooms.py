"""The rooms of scripts/paragone/: which rooms each may import, and the digests of their code.

A digest that missed a module would leave results that an edit changes.
"""

import ast
import re
import sys
from pathlib import Path

import pytest
from workspace import ROOT, run_python

from paragone.base import plugins
from paragone.base.errors import Unavailable
from paragone.models import torch
from paragone.plan.code import GROUPS, code_of, digest_of

SCRIPTS = Path(__file__).parents[2] / "scripts"
LIBRARY = SCRIPTS / "paragone"

# (room, the room that it imports), as drawn.
DRAWING = (ROOT / "docs/architecture.md").read_text().partition("<!-- drawing -->")[2]
ARROWS = re.findall(r"(?m)^    (\w+) --> (\w+)$", DRAWING)
ROOMS = {room for arrow in ARROWS for room in arrow}


def below(room: str) -> set[str]:
    """The rooms that `room` may import: those that its arrows reach."""
    direct = {lower for upper, lower in ARROWS if upper == room}
    return direct.union(*map(below, direct))


def imported(path: Path) -> list[str]:
    """Dotted names of this project's modules and programs that a file imports."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "paragone":
            names += [f"paragone.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module)
    return names


def test_every_room_is_drawn():
    rooms = {path.parent.name for path in LIBRARY.glob("*/__init__.py")}
    assert rooms == ROOMS
    assert [path.name for path in LIBRARY.glob("*.py")] == ["__init__.py"]


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_no_room_imports_one_above_it(room):
    upward = [
        f"{path.relative_to(LIBRARY)} imports {name}"
        for path in (LIBRARY / room).rglob("*.py")
        for name in imported(path)
        if name.startswith("paragone.") and name.split(".")[1] not in below(room) | {room}
    ]
    assert upward == []


def test_no_program_imports_a_program():
    programs = {path.stem for path in SCRIPTS.glob("*.py")}
    for path in SCRIPTS.rglob("*.py"):
        assert not programs & set(imported(path)), path


# Modules by dotted name.
MODULES = {
    ".".join(path.relative_to(SCRIPTS).with_suffix("").parts).removesuffix(".__init__"): path
    for path in LIBRARY.rglob("*.py")
}


def files_of(group: str) -> set[Path]:
    places = [(LIBRARY / name).resolve() for name in GROUPS[group].split()]
    return {
        file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place])
    }


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_has_all_modules_that_its_modules_import(group):
    files = files_of(group)
    assert all(file.is_file() for file in files)
    needed = {MODULES[name] for file in files for name in imported(file) if name in MODULES}
    beside = {*(LIBRARY / "plan").glob("*.py"), LIBRARY / "__init__.py"}
    beside |= {path for path in needed if path.name == "__init__.py"}
    assert needed - files - beside == set()


def test_the_digest_is_of_names_and_contents_and_of_no_place_or_time(tmp_path, monkeypatch):
    """The program is named as seen from the project."""
    names = ("mlp", "torch")

    def digest(place: str, text: str = "# one", name: str = "near.py", *more: str) -> str:
        models = tmp_path / place / "models"
        models.mkdir(parents=True)
        (models / "torch.py").write_text('MODELS = {"own": None}')
        (models / name).write_text(text)
        monkeypatch.setenv(plugins.VARIABLE, str(tmp_path / place))
        path, made = code_of("train.py", "training", *names, *more)
        assert path == "scripts/train.py"
        return made

    first = digest("zz", "# one", "near.py", "own")
    monkeypatch.chdir(tmp_path)
    assert digest("aa", "# one", "near.py", "own") == first
    assert digest("b", "# another", "near.py", "own") != first
    assert digest("c", "# one", "other.py", "own") != first
    # A run that uses no name of the folder does not depend on it.
    assert digest("d", "# one") == digest("e", "# another") != first


def test_a_name_that_is_put_together_belongs_to_every_folder(tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    file = tmp_path / "models/torch.py"
    file.write_text("MODELS = {f'deep-{depth}': None for depth in (2, 3)}")
    monkeypatch.setenv(plugins.VARIABLE, str(tmp_path))
    before = digest_of("training", "deep-2")
    file.write_text("MODELS = {f'deep-{depth}': None for depth in (2, 4)}")
    assert digest_of("training", "deep-2") != before
    assert plugins.users("mlp") == []


# What a process has imported


def loaded(*modules: str, **variables: str) -> set[str]:
    """All that a process has imported after these modules of the project."""
    names = "print(*(name for name, module in sys.modules.items() if module))"
    program = f"import sys, paragone.{', paragone.'.join(modules)}; {names}"
    return {*run_python(program, **variables).split()}


def test_planning_and_loading_import_no_framework():
    """What the rules import must stay light, as must what maps arrays."""
    texts = [path.read_text() for path in (ROOT / "rules").glob("*.smk")]
    planning = {name for text in texts for name in re.findall(r"(?m)^from paragone\.(\S+)", text)}
    assert "plan.plan" in planning
    heavy = {"tensorflow", "torch", "pandas", "requests"}
    assert not loaded(*planning) & {*heavy, "numpy"}
    assert not loaded("data") & heavy


def test_tensorflow_imports_nothing_for_the_sake_of_others():
    """The environment of the tests has all of them, and that of a user may name another backend of Keras."""
    modules = loaded("engines.tensorflow", KERAS_BACKEND="jax")
    assert {"tensorflow", "keras"} <= modules
    assert not {"jax", "matplotlib", "pandas", "sklearn"} & modules
    settings = run_python("import os, paragone.engines; print(*os.environ)", KERAS_BACKEND="jax")
    assert {name for name in settings.split() if name.startswith("KERAS")} == {"KERAS_HOME"}


def test_torchvision_is_imported_for_its_model_alone(monkeypatch):
    """Without it that model is unavailable; what the first optimizer brings is imported with the engine."""
    assert not {"torchvision", "torch._dynamo"} & loaded("engines.reference")
    assert {"torchvision", "torch._dynamo"} & loaded("engines.torch") == {"torch._dynamo"}
    monkeypatch.setitem(sys.modules, "torchvision", None)
    torch.MODELS["fashion-conv"]((28, 28, 1), 10)
    with pytest.raises(Unavailable, match="torchvision is not installed here"):
        torch.MODELS["mobilenet-v2"]((64, 64, 3), 2, outputs=1000)
