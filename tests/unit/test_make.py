"""`make all` writes the report when there is news, and only then."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from workspace import ROOT

# In the place of Snakemake: what it was called with, and the file that it would write.
STAND_IN = """#!/bin/sh
echo "$@" >>calls
mkdir -p results .snakemake/metadata
case "$*" in *--report*) touch results/report.html ;; esac
"""


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A folder with the Makefile and an environment that is up to date."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "envs").mkdir()
    for name in ("uv.txt", "requirements.txt", "dev.txt"):
        (tmp_path / "envs" / name).touch()
    program = tmp_path / ".venv/bin/snakemake"
    program.parent.mkdir(parents=True)
    program.write_text(STAND_IN)
    program.chmod(0o755)
    (program.parent / "activate").write_text('PATH="$PWD/.venv/bin:$PATH"\n')
    for name in ("uv", "workflow"):
        (tmp_path / ".venv" / name).touch()
    return tmp_path


def reported(checkout: Path, *arguments: str) -> bool:
    """Whether a call of `make all` writes the report."""
    (checkout / "calls").unlink(missing_ok=True)
    subprocess.run(["make", "all", *arguments], cwd=checkout, check=True, capture_output=True)
    return "--report results/report.html" in (checkout / "calls").read_text()


def finish_a_job(checkout: Path) -> None:
    """What Snakemake writes when a job ends, later than the report."""
    noted = checkout / ".snakemake/metadata/job"
    noted.touch()
    later = (checkout / "results/report.html").stat().st_mtime + 1
    os.utime(noted, (later, later))


def test_the_report_is_written_once_and_after_a_job(checkout):
    assert [reported(checkout), reported(checkout)] == [True, False]
    finish_a_job(checkout)
    assert reported(checkout)


def test_the_report_of_another_call_is_written_anew(checkout):
    assert reported(checkout)
    assert reported(checkout, "CONFIG=presets/smoke.yaml")
    assert not reported(checkout, "CONFIG=presets/smoke.yaml")
    assert reported(checkout)
