"""Run the data programs as the workflow does, in their own processes and in a folder of a test."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from paragone.config.datasets import block_of

ROOT = Path(__file__).parents[2]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())
CONFIG_DATA, DATASETS = CONFIG["data"], CONFIG["datasets"]
FASHION_FILES = DATASETS["fashion_mnist"]["editions"]["official"]


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
    dataset: str,
    results: Path,
    folder: Path,
    environment: str = "",
    block: dict | None = None,
    **settings: object,
) -> subprocess.CompletedProcess:
    """Write <results>/source.json; `block` changes the data set's, `settings` the config's `data` block.

    The lock file is beside `folder`.
    """
    known = dataset in DATASETS or "/" in dataset
    whole = (block_of(CONFIG, dataset, "test") if known else {}) | (block or {})
    data = CONFIG_DATA | {"folder": str(folder), "lock": str(lock_of(folder))} | settings
    return run(
        "fetch",
        f"--dataset={dataset}",
        f"--block={json.dumps(whole)}",
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
        f"--lock={lock_of(folder)}",
        f"--output={results / 'manifest.json'}",
    )


def lock_of(folder: Path) -> Path:
    """The lock file that belongs to a data folder."""
    return folder.with_name("datasets.lock.json")


def prepare(
    dataset: str,
    results: Path,
    folder: Path,
    environment: str = "",
    block: dict | None = None,
    **settings: object,
) -> None:
    """Fetch and serialize; fail the test with the programs' own words."""
    for done in (
        fetch(dataset, results, folder, environment, block, **settings),
        serialize(results, folder),
    ):
        assert done.returncode == 0, done.stderr


def refused(done: subprocess.CompletedProcess, *words: str) -> None:
    """Assert one error line that holds all `words`, a failing status, and no traceback."""
    assert done.returncode == 1, done.stderr
    assert len(re.findall("^error: ", done.stderr, re.MULTILINE)) == 1, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
