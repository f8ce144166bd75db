"""`make all` writes the report when there is news, and only then."""

import os
import shutil
import subprocess

from workspace import ROOT

# In the place of Snakemake: what it was called with, and the file that it would write.
STAND_IN = """#!/bin/sh
echo "$@" >>calls
mkdir -p results .snakemake/metadata
case "$*" in *--report*) touch results/report.html ;; esac
"""


def test_the_report_is_written_once_after_a_job_and_for_another_call(tmp_path):
    files = ["envs/uv.txt", "envs/requirements.txt", "envs/dev.txt", ".venv/uv", ".venv/workflow"]
    for name in (*files, ".venv/bin/snakemake"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / ".venv/bin/snakemake").write_text(STAND_IN)
    (tmp_path / ".venv/bin/snakemake").chmod(0o755)
    (tmp_path / ".venv/bin/activate").write_text('PATH="$PWD/.venv/bin:$PATH"\n')

    def reported(*arguments: str) -> bool:
        (tmp_path / "calls").unlink(missing_ok=True)
        subprocess.run(["make", "all", *arguments], cwd=tmp_path, check=True, capture_output=True)
        return "--report results/report.html" in (tmp_path / "calls").read_text()

    assert [reported(), reported()] == [True, False]
    # What Snakemake writes when a job ends, later than the report.
    job = tmp_path / ".snakemake/metadata/job"
    job.touch()
    later = (tmp_path / "results/report.html").stat().st_mtime + 1
    os.utime(job, (later, later))
    assert reported()
    os.utime(job, (later - 10, later - 10))
    other = "CONFIG=presets/smoke.yaml"
    assert [reported(other), reported(other), reported()] == [True, False, True]
