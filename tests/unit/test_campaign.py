"""The table of faults counts what tests with the mark `injects` did, and each of its rows has a test."""

import re

from campaign import PAGE, ROW
from workspace import ROOT

pytest_plugins = ["pytester"]

TESTS = """
import pytest

killed = pytest.mark.injects("a rank killed or stopped")

@killed
def test_counts(record_property):
    record_property("times", 1200)
    record_property("seen", "3 of them late")

@killed
def test_counts_once(): pass

@pytest.mark.injects("ranks cut off")
def test_skipped(): pytest.skip("needs root")

@pytest.mark.injects("no room in /dev/shm")
def test_failed(): assert False

def test_without_a_fault(): pass
"""


def test_rows_are_counted_by_mark(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    pytester.makepyfile(TESTS)
    done = pytester.runpytest_subprocess("-p", "campaign", "-k", "test", "-W", "ignore")
    printed = [line.strip("| ").split(" | ") for line in done.outlines if line.startswith("| ")]
    assert {cells[0]: (cells[2], cells[4]) for cells in printed} == {
        "no room in /dev/shm": ("0", "**FAILED**: test_failed"),
        "a rank killed or stopped": ("1,201", "survived; 3 of them late"),
        "ranks cut off": ("0", "not run: needs root"),
    }


def test_every_row_has_a_test_and_every_mark_a_row():
    texts = [path.read_text() for path in ROOT.glob("tests/**/test_*.py")]
    texts.append((ROOT / "tests/faults/killing.py").read_text())
    marks = re.findall(r'mark\.injects\(\s*"([^"]+)"', "".join(texts))
    assert {row[1] for row in ROW.finditer(PAGE.read_text())} - {"fault", "---"} == {*marks}
