"""What a rule declares as its code is all of it: else an edit would not rerun what it changes."""

import re
import subprocess
import sys

import pytest
from workspace import CONFIG, ROOT, environment

from paragone.config.code_inputs import _imports, code_inputs

ENGINES = sorted({backend["engine"] for backend in CONFIG["backends"].values()})
PROGRAMS = sorted(path.name for path in ROOT.glob("scripts/*.py"))


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_comes_first_and_nothing_twice(program):
    found = code_inputs(program)
    assert found[0] == f"scripts/{program}"
    assert len(set(found)) == len(found)
    assert found[1:] == sorted(found[1:])
    assert all((ROOT / path).is_file() for path in found)


@pytest.mark.parametrize("engine", ENGINES)
def test_training_depends_on_loop_engine_models_and_data(engine):
    framework = {"tensorflow": "tensorflow", "keras_fit": "tensorflow", "jax": "jax"}.get(
        engine, "torch"
    )
    found = code_inputs("train.py", f"paragone.engines.{engine}")
    assert {
        "scripts/paragone/__init__.py",
        "scripts/paragone/training/loop.py",
        "scripts/paragone/data/batches.py",
        "scripts/paragone/data/loader.py",
        "scripts/paragone/engines/__init__.py",
        f"scripts/paragone/engines/{engine}.py",
        f"scripts/paragone/models/{framework}.py",
        "scripts/paragone/data/random_streams.py",
        "scripts/paragone/models/canonical_weights.py",
    } <= set(found)


def test_one_framework_does_not_depend_on_another():
    assert not any(
        "torch" in path for path in code_inputs("train.py", "paragone.engines.tensorflow")
    )
    assert not any(
        "tensorflow" in path for path in code_inputs("train.py", "paragone.engines.torch")
    )
    assert not any("reporting" in path for path in code_inputs("train.py"))


def test_figures_depend_on_no_loop():
    found = code_inputs("plot.py", "paragone.reporting.figures.throughput")
    assert "scripts/paragone/training/loop.py" not in found
    assert "scripts/paragone/reporting/drawing/style.py" in found


@pytest.mark.parametrize("kind", ["figures", "tables"])
def test_each_figure_and_table_depends_on_its_own_module_alone(kind):
    """So that an edit of one makes only that one again."""
    program = {"figures": "plot.py", "tables": "write_table.py"}[kind]
    folder = f"scripts/paragone/reporting/{kind}"
    names = {path.stem for path in (ROOT / folder).glob("*.py")} - {"__init__"}
    for name in names:
        found = code_inputs(program, f"paragone.reporting.{kind}.{name}")
        own = {f"{folder}/{each}.py" for each in names} & set(found)
        assert own == {f"{folder}/{name}.py"}


@pytest.mark.parametrize(
    "program", ["fetch.py", "serialize.py", "collect.py", "check_parity.py", "calibrate.py"]
)
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
    assert loaded <= set(code_inputs(program))


def test_the_workflow_may_parse_without_any_framework():
    """What the rules import must stay light."""
    texts = [path.read_text() for path in (ROOT / "rules").glob("*.smk")]
    modules = {name for text in texts for name in re.findall(r"(?m)^from (paragone\S+)", text)}
    assert "paragone.config.expand" in modules
    code = (
        "import sys; sys.path.insert(0, 'scripts')\n"
        f"import {', '.join(sorted(modules))}\n"
        "heavy = {'numpy', 'tensorflow', 'torch', 'pandas'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_program_that_another_starts_is_part_of_it():
    found = code_inputs("launch.py", "train")
    assert {"scripts/train.py", "scripts/paragone/training/loop.py"} <= {*found}


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
