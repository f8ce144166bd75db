"""The table of faults counts what tests with the mark `injects` did."""

from workspace import ROOT

pytest_plugins = ["pytester"]

TESTS = """
import pytest

killed = pytest.mark.injects("1 kills", "a trainer killed", "SIGKILL")

@killed
def test_counts(record_property):
    record_property("times", 1200)
    record_property("seen", "3 of them late")

@killed
def test_counts_once(): pass

@pytest.mark.injects("2 disk", "a full disk", "a tmpfs", lost="an epoch")
def test_skipped(): pytest.skip("needs root")

@pytest.mark.injects("2 disk", "a slow disk", "a delay")
def test_failed(): assert False

def test_without_a_fault(): pass
"""


def test_rows_are_counted_by_mark(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    pytester.makepyfile(TESTS)
    done = pytester.runpytest_subprocess("-p", "campaign", "-k", "test", "-W", "ignore")
    printed = [line for line in done.outlines if line.startswith("| ")][2:]
    assert printed == [
        "| **1 kills** | | | | |",
        "| a trainer killed | SIGKILL | 1,201 | nothing | survived; 3 of them late |",
        "| **2 disk** | | | | |",
        "| a full disk | a tmpfs | 0 | an epoch | not run: needs root |",
        "| a slow disk | a delay | 0 | nothing | **FAILED**: test_failed |",
    ]
