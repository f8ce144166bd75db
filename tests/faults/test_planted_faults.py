"""Faults planted on purpose, one at a time, in a copy of the project: the tests that must see them fail.

planted/ lists them, a file per room of scripts/paragone/, and one for rules/. Each has

    name    unique
    rule    the measurement rule of rules/schemas/compliance.csv that it concerns, if it is one
    file    relative to the project
    old     text that occurs there once; in the copy it becomes `new`
    tests   relative to tests/; each is run alone and must fail

Whoever edits an `old` text edits it in planted/, too. A fault that no test sees needs a new test.
"""

import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults.planting import Edit
from workspace import ROOT, Checkout, environment

from paragone.records.compliance import rules

FOLDER = Path(__file__).with_name("planted")
# Faults that are no wrong result, but a program that no longer runs: any test would see them.
BROKEN = re.compile(r"^E +(SyntaxError|IndentationError|NameError|ImportError)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Fault(Edit):
    """One entry; `room` is the name of its file."""

    room: str
    tests: list[str]
    rule: str | None = None


FAULTS = [
    Fault(room=path.stem, **entry)
    for path in sorted(FOLDER.glob("*.toml"))
    for entry in tomllib.loads(path.read_text())["fault"]
]


class Copy(Checkout):
    """A checkout in which tests run."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for line in (["init", "--quiet"], ["add", "--all", "--force"]):  # tests list tracked files
            subprocess.run(["git", *line], cwd=folder, check=True)

    def run(self, tests: list[str]) -> tuple[int, str]:
        """Exit status and output of pytest, in a new process."""
        line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tb=short"]
        line += [f"--basetemp={self.folder.with_name('temporary')}"]
        # No compiled files: those of an edit within the same second would look up to date.
        variables = environment(PYTHONDONTWRITEBYTECODE="1")
        for name in [name for name in variables if name.startswith("PYTEST_")]:
            del variables[name]
        done = subprocess.run(
            [*line, *(f"tests/{test}" for test in tests)],
            cwd=self.folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=1800,
        )
        return done.returncode, done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    """The project without a fault: there every named test passes."""
    made = Copy(tmp_path_factory.mktemp("planted") / "checkout")
    status, output = made.run(sorted({test for fault in FAULTS for test in fault.tests}))
    assert status == 0, output
    assert " skipped" not in output.splitlines()[-1], output
    return made


@pytest.mark.full
def test_every_fault_fits_the_code():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    rooms = {path.parent.name for path in ROOT.glob("scripts/paragone/*/__init__.py")}
    assert {fault.room for fault in FAULTS} == {*rooms, "rules"}
    assert {fault.rule for fault in FAULTS} - {None} == set(rules.table())
    for fault in FAULTS:
        fault.fits()
        for test in fault.tests:
            file, _, function = test.partition("[")[0].partition("::")
            assert f"def {function}(" in (ROOT / "tests" / file).read_text(), test


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_seen(copy, fault):
    with fault.planted(copy):
        for test in fault.tests:
            status, output = copy.run([test])
            assert status == 1, output
            assert re.search(r"\b[1-9]\d* failed", output.splitlines()[-1]), output
            assert not BROKEN.search(output), output
