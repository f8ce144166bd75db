"""What a rule has a digest of is all of its code: else an edit would not rerun what it changes."""

from pathlib import Path

import pytest
from workspace import CONFIG, ROOT, run_python

from paragone.base import plugins
from paragone.config.code_files import code_files, code_of

ENGINES = sorted({backend["engine"] for backend in CONFIG["backends"].values()})


def names(program: str, *modules: str) -> list[str]:
    """The code files of a program, relative to the checkout: itself first, the others sorted."""
    listed = [str(path.relative_to(ROOT)) for path in code_files(program, *modules)]
    assert listed[0] == f"scripts/{program}"
    assert listed[1:] == sorted({*listed[1:]})
    return listed


def test_the_program_comes_first_and_all_are_files():
    for program in (path.name for path in ROOT.glob("scripts/*.py")):
        assert all((ROOT / path).is_file() for path in names(program))


@pytest.mark.parametrize("engine", ENGINES)
def test_training_depends_on_loop_engine_models_and_data(engine):
    frameworks = {"tensorflow": "tensorflow", "keras_fit": "tensorflow", "jax": "jax"}
    needed = (
        f"__init__ engines/__init__ engines/{engine} models/{frameworks.get(engine, 'torch')} "
        "models/weights training/loop data/__init__ data/batches data/random_streams"
    )
    of_engine = names("train.py", f"paragone.engines.{engine}")
    assert {f"scripts/paragone/{name}.py" for name in needed.split()} <= set(of_engine)
    of_launcher = names("launch.py", "train")  # a program that another starts
    assert {"scripts/train.py", "scripts/paragone/training/loop.py"} <= {*of_launcher}


def test_nothing_depends_on_more_than_it_uses():
    """So that an edit of one framework or figure makes only its own runs or figure again."""
    assert not any("torch" in path for path in names("train.py", "paragone.engines.tensorflow"))
    assert not any("tensorflow" in path for path in names("train.py", "paragone.engines.torch"))
    assert not any("reporting" in path for path in names("train.py"))
    folder = "scripts/paragone/reporting/figures"
    modules = {path.stem for path in (ROOT / folder).glob("*.py")} - {"__init__"}
    for name in modules:
        listed = names("draw.py", f"paragone.reporting.figures.{name}")
        own = {f"{folder}/{each}.py" for each in modules} & set(listed)
        assert own == {f"{folder}/{name}.py"}
        assert "scripts/paragone/reporting/style.py" in listed
        assert "scripts/paragone/training/loop.py" not in listed


@pytest.mark.parametrize("program", ["fetch.py", "serialize.py", "collect.py", "check_parity.py"])
def test_closure_holds_every_module_that_python_really_loads(program):
    code = (
        "import importlib, sys; importlib.import_module(sys.argv[1]);"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'paragone'))"
    )
    text = run_python(code, program.removesuffix(".py"))
    loaded = {path.partition(f"{ROOT}/")[2] or path for path in text.split()}
    assert len(loaded) > 2
    assert loaded <= set(names(program))


def test_the_digest_is_of_names_and_contents_and_of_no_place_or_time(tmp_path, monkeypatch):
    """The program is named as seen from the working directory."""

    def digest(place: str, changed: str = "", name: str = "near.py") -> str:
        engines = tmp_path / place / "engines"
        engines.mkdir(parents=True)
        (engines / "own.py").write_text(f"from . import {Path(name).stem}")
        (engines / name).write_text(changed)
        monkeypatch.setenv(plugins.VARIABLE, str(tmp_path / place))
        path, made = code_of("train.py", "paragone.engines.own")
        assert not Path(path).is_absolute()
        assert Path(path).resolve() == ROOT / "scripts/train.py"
        return made

    first = digest("zz")
    monkeypatch.chdir(tmp_path)
    assert digest("aa") == first
    assert digest("b", changed="# one comment more") != first
    assert digest("c", name="other.py") != first
