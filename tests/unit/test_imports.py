"""What a program imports, and what it leaves out."""

import re
import sys

import pytest
from workspace import ROOT, call

from paragone.base.imports import without


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
        "import sys; from paragone.reporting.drawing import style; "
        "print(*sys.modules); from scipy import stats; print(stats.norm.cdf(0))"
    )
    done = call([sys.executable, "-c", program], PYTHONPATH=str(ROOT / "scripts"))
    assert done.returncode == 0, done.stderr
    imported, half = done.stdout.splitlines()
    assert re.search(r"\bseaborn\.distributions\b", imported)
    assert not re.search(r"\bscipy\.(stats|spatial|optimize)\b", imported)
    assert float(half) == 0.5
