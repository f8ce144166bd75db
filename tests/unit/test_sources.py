"""What a rule has a digest of is all of its code: else an edit would not rerun what it changes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from workspace import CONFIG, ROOT, environment

from paragone.base import plugins
from paragone.config.code_files import _imports, code_files, code_of

ENGINES = sorted({backend["engine"] for backend in CONFIG["backends"].values()})
PROGRAMS = sorted(path.name for path in ROOT.glob("scripts/*.py"))


def names(program: str, *modules: str) -> list[str]:
    """The code files of a program, relative to the checkout."""
    return [str(path.relative_to(ROOT)) for path in code_files(program, *modules)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_comes_first_and_nothing_twice(program):
    found = names(program)
    assert found[0] == f"scripts/{program}"
    assert len(set(found)) == len(found)
    assert found[1:] == sorted(found[1:])
    assert all((ROOT / path).is_file() for path in found)


@pytest.mark.parametrize("engine", ENGINES)
def test_training_depends_on_loop_engine_models_and_data(engine):
    framework = {"tensorflow": "tensorflow", "keras_fit": "tensorflow", "jax": "jax"}.get(
        engine, "torch"
    )
    found = names("train.py", f"paragone.engines.{engine}")
    assert {
        "scripts/paragone/__init__.py",
        "scripts/paragone/training/loop.py",
        "scripts/paragone/data/batches.py",
        "scripts/paragone/data/__init__.py",
        "scripts/paragone/engines/__init__.py",
        f"scripts/paragone/engines/{engine}.py",
        f"scripts/paragone/models/{framework}.py",
        "scripts/paragone/data/random_streams.py",
        "scripts/paragone/models/weights.py",
    } <= set(found)


def test_one_framework_does_not_depend_on_another():
    assert not any("torch" in path for path in names("train.py", "paragone.engines.tensorflow"))
    assert not any("tensorflow" in path for path in names("train.py", "paragone.engines.torch"))
    assert not any("reporting" in path for path in names("train.py"))


def test_figures_depend_on_no_loop():
    found = names("plot.py", "paragone.reporting.figures.throughput")
    assert "scripts/paragone/training/loop.py" not in found
    assert "scripts/paragone/reporting/style.py" in found


def test_each_figure_depends_on_its_own_module_alone():
    """So that an edit of one makes only that one again."""
    folder = "scripts/paragone/reporting/figures"
    modules = {path.stem for path in (ROOT / folder).glob("*.py")} - {"__init__"}
    for name in modules:
        found = names("plot.py", f"paragone.reporting.figures.{name}")
        own = {f"{folder}/{each}.py" for each in modules} & set(found)
        assert own == {f"{folder}/{name}.py"}


@pytest.mark.parametrize("program", ["fetch.py", "serialize.py", "collect.py", "check_parity.py"])
def test_closure_holds_every_module_that_python_really_loads(program):
    code = (
        "import importlib, sys; sys.path.insert(0, 'scripts'); importlib.import_module(sys.argv[1]);"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'paragone'))"
    )
    line = [sys.executable, "-c", code, program.removesuffix(".py")]
    done = subprocess.run(
        line, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=True
    )
    loaded = {path.partition(f"{ROOT}/")[2] or path for path in done.stdout.split()}
    assert len(loaded) > 2
    assert loaded <= set(names(program))


def test_the_workflow_may_parse_without_any_framework():
    """What the rules import must stay light."""
    texts = [path.read_text() for path in (ROOT / "rules").glob("*.smk")]
    modules = {name for text in texts for name in re.findall(r"(?m)^from (paragone\S+)", text)}
    assert "paragone.config.plan" in modules
    code = (
        "import sys; sys.path.insert(0, 'scripts')\n"
        f"import {', '.join(sorted(modules))}\n"
        "heavy = {'numpy', 'tensorflow', 'torch', 'pandas'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_program_that_another_starts_is_part_of_it():
    found = names("launch.py", "train")
    assert {"scripts/train.py", "scripts/paragone/training/loop.py"} <= {*found}


def test_the_digest_is_of_names_and_contents_and_of_no_place_or_time(tmp_path, monkeypatch):
    def digest(place: str, changed: str = "", name: str = "beside.py") -> str:
        engines = tmp_path / place / "engines"
        engines.mkdir(parents=True)
        (engines / "own.py").write_text(f"from . import {Path(name).stem}")
        (engines / name).write_text(changed)
        monkeypatch.setenv(plugins.VARIABLE, str(tmp_path / place))
        return code_of("train.py", "paragone.engines.own")[1]

    first = digest("zz")
    monkeypatch.chdir(tmp_path)
    assert digest("aa") == first
    assert digest("b", changed="# one comment more") != first
    assert digest("c", name="other.py") != first


def test_the_program_is_named_as_seen_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, _ = code_of("train.py")
    assert not Path(path).is_absolute()
    assert Path(path).resolve() == ROOT / "scripts/train.py"


NESTED = """
import a0
try:
    import a1
except ImportError:
    import a2
else:
    import a3
finally:
    import a4
if a0:
    pass
elif a1:
    import a5
else:
    import a6
match a0:
    case 1:
        import a7
class One:
    async def two(self):
        with a0:
            for _ in a0:
                from a8 import nine
"""


def test_imports_are_found_wherever_a_statement_can_be(tmp_path):
    (tmp_path / "nested.py").write_text(NESTED)
    found = _imports(tmp_path / "nested.py")
    assert found == {*(f"a{number}" for number in range(9)), "a8.nine"}
