"""What a program imports, and what it leaves out."""

import re
import sys

import pytest
from workspace import ROOT, run_python

from paragone.base.errors import Unavailable
from paragone.models import torch


def imported(*modules: str, **variables: str) -> set[str]:
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
    assert not imported(*planning) & {*heavy, "numpy"}
    assert not imported("data") & heavy


def test_tensorflow_imports_nothing_for_the_sake_of_others():
    """The environment of the tests has all of them, and that of a user may name another backend of Keras."""
    modules = imported("engines.tensorflow", KERAS_BACKEND="jax")
    assert {"tensorflow", "keras"} <= modules
    assert not {"jax", "matplotlib", "pandas", "sklearn"} & modules
    settings = run_python("import os, paragone.engines; print(*os.environ)", KERAS_BACKEND="jax")
    assert {name for name in settings.split() if name.startswith("KERAS")} == {"KERAS_HOME"}


def test_torchvision_is_imported_for_its_model_alone(monkeypatch):
    """Without it that model is unavailable; what the first optimizer brings is imported with the engine."""
    assert not {"torchvision", "torch._dynamo"} & imported("engines.reference")
    assert {"torchvision", "torch._dynamo"} & imported("engines.torch") == {"torch._dynamo"}
    monkeypatch.setitem(sys.modules, "torchvision", None)
    torch.MODELS["fashion-conv"]((28, 28, 1), 10)
    with pytest.raises(Unavailable, match="torchvision is not installed here"):
        torch.MODELS["mobilenet-v2"]((64, 64, 3), 2, outputs=1000)
