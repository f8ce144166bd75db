"""Run the data programs as the workflow does, in a folder of a test, on data of the config or of a user."""

import importlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from workspace import CONFIG, ROOT, call, job, refused

from paragone.config.datasets import block_of
from paragone.data import Dataset, load

CONFIG_DATA, DATASETS = CONFIG["data"], CONFIG["datasets"]
OF_PAPERS = os.environ["PARAGONE_PLUGINS"]  # their models, which no data program reads
FASHION_FILES = DATASETS["fashion_mnist"]["editions"]["official"]


def run(
    program: str, *options: str, environment: str = "", alone: bool = False
) -> subprocess.CompletedProcess:
    """Run scripts/<program>.py with PARAGONE_MIRRORS set to `environment`.

    In this process, which has imported TensorFlow once for all; in its own if `alone`, or with plugins of a
    test, whose modules a process finds once.
    """
    if alone or os.environ.get("PARAGONE_PLUGINS", "") not in ("", OF_PAPERS):
        line = [sys.executable, str(ROOT / f"scripts/{program}.py"), *options]
        return call(line, timeout=300, PARAGONE_MIRRORS=environment)
    status, output, errors = 0, io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        patch.setenv("PARAGONE_MIRRORS", environment)
        # The program sets both.
        patch.setenv("CUDA_VISIBLE_DEVICES", "-1")
        patch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
        patch.setattr(sys, "argv", [program, *options])
        try:
            importlib.import_module(program).main()
        except SystemExit as end:
            status = end.code
    return subprocess.CompletedProcess(
        [program, *options], status, output.getvalue(), errors.getvalue()
    )


def fetch(
    dataset: str,
    results: Path,
    folder: Path,
    environment: str = "",
    block: dict | None = None,
    **settings: object,
) -> subprocess.CompletedProcess:
    """Write <results>/source.json; `block` changes the data set's, `settings` the config's `data` block."""
    known = dataset in DATASETS or "/" in dataset
    whole = (block_of(DATASETS, dataset, "test") if known else {}) | (block or {})
    data = CONFIG_DATA | {"folder": str(folder)} | settings
    keys = {"dataset": dataset, "block": whole, "data": data, "source": results / "source.json"}
    return run("fetch", *job(**keys), environment=environment)


def serialize(
    results: Path, folder: Path, alone: bool = False, models: Iterable[str] = ()
) -> subprocess.CompletedProcess:
    """Write <results>/manifest.json from <results>/source.json; `models` are trained on it."""
    files = {"source": results / "source.json", "manifest": results / "manifest.json"}
    return run("serialize", *job(**files, folder=folder, models=[*models]), alone=alone)


def prepare(dataset: str, results: Path, folder: Path, *about: object, **settings: object) -> None:
    """Fetch, as `about` and `settings` say, and serialize; fail the test with their messages."""
    fetched = fetch(dataset, results, folder, *about, **settings)
    for done in (fetched, serialize(results, folder)):
        assert done.returncode == 0, done.stderr


RANDOM = np.random.default_rng(0)
DIGITS = RANDOM.integers(0, 17, (50, 8, 8))
NPZ = {"form": "arrays", "path": "mine.npz", "held_out": 0.2}
BOTH = {
    "form": "arrays",
    "path": "mine.npz",
    "inputs": {"train": "x", "test": "xt"},
    "labels": {"train": "y", "test": "yt"},
}
CSV = {"form": "table", "path": "mine.csv", "held_out": 0.5, "length": 8}
TEXTS = "text,label\n" + "".join(f"a word {n},{'xy'[n % 2]}\n" for n in range(10))
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
LABELS = RANDOM.permutation(np.arange(50) % 5)


def made(block: dict, name: str = "mine", **settings: object) -> tuple[Dataset, dict]:
    """The data set that a block describes, and its manifest."""
    results, data = Path("results"), Path("data")
    prepare(name, results, data, block=block, **settings)
    manifest = results / "manifest.json"
    return load(manifest, data), json.loads(manifest.read_text())


def wrong(block: dict, *words: str, name: str = "refused") -> None:
    """The programs refuse a block with one message that holds all `words`, whatever was there before."""
    done = fetch(name, Path("results"), Path("data"), block=block)
    if done.returncode == 0:
        done = serialize(Path("results"), Path("data"))
    refused(done, *words)
    assert not list(Path().glob(f"data/arrays/{name}-*"))


def pictures(root: Path, colors: dict[str, tuple], count: int = 10) -> None:
    """A folder of plain images per class, each of another size."""
    for name, color in colors.items():
        (root / name).mkdir(parents=True)
        for number in range(count):
            Image.new("RGB", (20 + number, 16), color).save(root / name / f"{number}.png")


def table(content: str | bytes, name: str = "mine.csv", **options: object) -> dict:
    """The block of a table with this content."""
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return CSV | {"path": name} | options


def treated(manifest: dict) -> dict[str, int]:
    """Return how often each thing was converted or left out, by the first three words of the summary."""
    return {" ".join(key.split()[:3]): n for key, n in manifest["summary"]["treated"].items()}


def examples_of(manifest: dict) -> int:
    return sum(map(sum, manifest["summary"]["examples"].values()))


def notices(manifest: dict) -> str:
    return "; ".join(manifest["summary"]["notices"])
