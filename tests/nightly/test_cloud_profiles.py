"""Dry runs of the profiles of clouds, through their executors in an environment of their own."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from cluster.test_profiles import CLOUDS, dry_run
from plan import Plan
from workspace import ROOT


@pytest.fixture(scope="module")
def cloud_python(tmp_path_factory) -> Path:
    """The environment of envs/cloud.txt, which cannot be that of the workflow: two protobufs."""
    folder = tmp_path_factory.mktemp("cloud") / "venv"
    uv = Path(sys.executable).with_name("uv")
    python = folder / "bin/python"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    install = [uv, "pip", "install", "--quiet", "--require-hashes", "--python", python]
    subprocess.run([*install, "-r", ROOT / "envs/cloud.txt"], check=True)
    return python


@pytest.mark.parametrize("profile", sorted(CLOUDS))
def test_cloud_profile_would_submit_the_whole_workflow(checkout, cloud_python, profile):
    made = checkout()
    path = made / f"profiles/{profile}/profile.yaml"
    edited = yaml.safe_load(path.read_text())
    # The volume, as it would be mounted where Snakemake is called.
    edited["default-storage-prefix"] = str(made.folder)
    path.write_text(yaml.safe_dump(edited))
    plan = Plan()
    expected = plan.jobs()
    if profile == "googlebatch":  # by conda each variant of a contest has a Python of its own
        specs = [spec for question in plan.timed.values() for spec in question.variants]
        expected["environment"] = len({spec.backend.name for spec in specs})
    assert dry_run(made, cloud_python, profile) == expected
