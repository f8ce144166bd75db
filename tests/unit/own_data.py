"""Data sets of a user for tests: what the programs make of a block in the working directory."""

import json
from pathlib import Path

import numpy as np
from data_programs import fetch, prepare, serialize
from PIL import Image
from workspace import refused

from paragone.data import Dataset, load

RANDOM = np.random.default_rng(0)
DIGITS = RANDOM.integers(0, 17, (50, 8, 8))
LABELS = RANDOM.permutation(np.arange(50) % 5)


def made(block: dict, name: str = "mine", **settings: object) -> tuple[Dataset, dict]:
    """The data set that a block describes, and its manifest."""
    results, data = Path("results"), Path("data")
    prepare(name, results, data, block=block, **settings)
    manifest = results / "manifest.json"
    return load(manifest, data), json.loads(manifest.read_text())


def wrong(block: dict, *words: str, name: str = "mine") -> None:
    """The programs refuse a block with one message that holds all `words`."""
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
