"""Run the data programs as the workflow does, in their own processes and in a folder of a test."""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
CONFIG_DATA = yaml.safe_load((ROOT / "config.yaml").read_text())["data"]
FASHION_FILES = CONFIG_DATA["editions"]["fashion_mnist"]["official"]


def run(program: str, *options: str, environment: str = "") -> subprocess.CompletedProcess:
    """Run scripts/<program>.py with PARAGONE_MIRRORS set to `environment`."""
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts" / f"{program}.py"), *options],
        env=os.environ | {"PARAGONE_MIRRORS": environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def fetch(
    dataset: str, results: Path, folder: Path, environment: str = "", **settings: object
) -> subprocess.CompletedProcess:
    """Write <results>/source.json; `settings` change the config's `data` block."""
    data = CONFIG_DATA | {"folder": str(folder)} | settings
    return run(
        "fetch",
        f"--dataset={dataset}",
        f"--config-data={json.dumps(data)}",
        f"--output={results / 'source.json'}",
        environment=environment,
    )


def serialize(results: Path, folder: Path) -> subprocess.CompletedProcess:
    """Write <results>/manifest.json from <results>/source.json."""
    return run(
        "serialize",
        f"--source={results / 'source.json'}",
        f"--folder={folder}",
        f"--output={results / 'manifest.json'}",
    )


def prepare(
    dataset: str, results: Path, folder: Path, environment: str = "", **settings: object
) -> None:
    """Fetch and serialize; fail the test with the programs' own words."""
    for done in (
        fetch(dataset, results, folder, environment, **settings),
        serialize(results, folder),
    ):
        assert done.returncode == 0, done.stderr


def refused(done: subprocess.CompletedProcess, *words: str) -> None:
    """Assert one error line that holds all `words`, a failing status, and no traceback."""
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("error: ") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
