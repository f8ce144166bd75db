"""Dry runs of the profiles through their real executors, and a Slurm profile left unedited."""

import os
import sys
from pathlib import Path

import pytest
import yaml
from plan import Plan
from workspace import ROOT, Checkout, call, job_stats, refused_by_workflow

pytestmark = pytest.mark.full

PROFILES = sorted(path.parent.name for path in ROOT.glob("profiles/*/profile.yaml"))
CLOUDS = {"googlebatch", "kubernetes"}  # tests/nightly/test_cloud_profiles.py


def dry_run(made: Checkout, python: Path, profile: str) -> dict[str, int]:
    """The number of jobs of each rule that would be submitted; the executor parses its settings."""
    line = [python, "-m", "snakemake", "all", "--workflow-profile", f"profiles/{profile}"]
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    done = call([*line, "--dry-run", "--quiet", "rules"], cwd=made.folder, PATH=path)
    assert done.returncode == 0, done.stderr
    return job_stats(done.stdout + done.stderr)


@pytest.mark.parametrize("profile", sorted({*PROFILES} - {*CLOUDS, "default"}))
def test_profile_would_run_the_whole_workflow(checkout, profile):
    assert dry_run(checkout(), Path(sys.executable), profile) == Plan().jobs()


def test_slurm_without_partition_or_account_is_one_message(checkout):
    made = checkout()
    path = made / "profiles/slurm/profile.yaml"
    line = ("all", "--workflow-profile", "profiles/slurm")
    printed = made.snakemake(*line, status=1)
    refused_by_workflow(printed, "no slurm_partition", "profiles/slurm/profile.yaml", "sinfo")
    profile = yaml.safe_load(path.read_text())
    profile["default-resources"]["slurm_partition"] = "main"
    path.write_text(yaml.safe_dump(profile))
    printed = made.snakemake(*line, status=1)
    refused_by_workflow(printed, "no slurm_account", "slurm-no-account")
    assert not (made / "results").exists()
