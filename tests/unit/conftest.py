"""Fixtures of the unit tests."""

import copy
from pathlib import Path

import pytest
from draw_figures import Drawing, varied
from make_results import VALID


@pytest.fixture(scope="session")
def everything(tmp_path_factory) -> Drawing:
    """The figures of the varied records, PyTorch/XLA failing parity."""
    return Drawing.of(tmp_path_factory.mktemp("varied"), varied(), **{"torch-xla": False})


@pytest.fixture
def records() -> list[dict]:
    """Nine records that obey every rule, to plant faults in."""
    return copy.deepcopy(VALID)


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder of a user, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
