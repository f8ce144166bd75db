"""What a program imports, and what it leaves out."""

import ast
import re
import sys
from importlib.util import find_spec

import pytest
from workspace import ROOT, call

from paragone.base.errors import Unavailable
from paragone.base.processes import without
from paragone.models import torch


def test_what_is_hidden_cannot_be_imported_until_the_block_ends(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("hidden_module", "known_module"):
        (tmp_path / f"{name}.py").write_text("")
    __import__("known_module")
    with without("hidden_module", "known_module"):
        __import__("known_module")
        with pytest.raises(ModuleNotFoundError):
            __import__("hidden_module")
    __import__("hidden_module")
    with pytest.raises(ZeroDivisionError), without("hidden_module", "another_module"):
        1 / 0  # noqa: B018
    assert "another_module" not in sys.modules
    assert sys.modules["hidden_module"] is not None


def test_a_figure_begins_without_the_half_of_scipy():
    """Where one needs it after all, a statistic of SciPy is found as ever."""
    program = (
        "import sys; from paragone.reporting import style; "
        "print(*sys.modules); from scipy import stats; print(stats.norm.cdf(0))"
    )
    done = call([sys.executable, "-c", program], PYTHONPATH=str(ROOT / "scripts"))
    assert done.returncode == 0, done.stderr
    imported, half = done.stdout.splitlines()
    assert re.search(r"\bseaborn\.distributions\b", imported)
    assert not re.search(r"\bscipy\.(stats|spatial|optimize)\b", imported)
    assert float(half) == 0.5


def imported(*modules: str, **variables: str) -> set[str]:
    """All that a process has imported after these modules of the project, in this order."""
    names = ", ".join(f"paragone.{name}" for name in modules)
    program = f"import sys, {names}; print(*(name for name, m in sys.modules.items() if m))"
    done = call([sys.executable, "-c", program], PYTHONPATH=str(ROOT / "scripts"), **variables)
    assert done.returncode == 0, done.stderr
    return {*done.stdout.split()}


def test_tensorflow_imports_nothing_for_the_sake_of_others():
    """The environment of the tests has all of them, and that of a user may name another backend of Keras."""
    found = imported("engines.keras_fit", KERAS_BACKEND="jax")
    assert {"tensorflow", "keras"} <= found
    for name in ("jax", "matplotlib", "pandas", "sklearn"):
        assert find_spec(name)
        assert name not in found


def test_modules_take_tensorflow_from_one_place():
    """A module of TensorFlow's or Keras' may be imported behind it, in the same file."""
    for file in (ROOT / "scripts").rglob("*.py"):
        first = None
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
            if "paragone.base.tensorflow" in names:
                first = first or node.lineno
            if {name.partition(".")[0] for name in names} & {"tensorflow", "keras"}:
                behind = first is not None and isinstance(node, ast.ImportFrom)
                assert behind or (file.name == "tensorflow.py" and file.parent.name == "base"), file


def test_an_engine_of_a_plugin_finds_no_settings_of_keras(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    program = "import os, paragone.engines; print(*os.environ)"
    done = call([sys.executable, "-c", program], PYTHONPATH=str(ROOT / "scripts"))
    assert {name for name in done.stdout.split() if name.startswith("KERAS")} == {"KERAS_HOME"}


def test_without_torchvision_its_model_is_unavailable_and_others_are_made(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    torch.MODELS["fashion-conv"]((28, 28, 1), 10)
    with pytest.raises(Unavailable, match="torchvision is not installed here"):
        torch.MODELS["mobilenet-v2"]((64, 64, 3), 2, outputs=1000)


def test_torchvision_is_imported_for_its_model_alone():
    """With all that it brings; what the first optimizer brings is imported with the engine."""
    assert not {"torchvision", "torch._dynamo"} & imported("engines.reference")
    assert {"torchvision", "torch._dynamo"} & imported("engines.torch") == {"torch._dynamo"}
