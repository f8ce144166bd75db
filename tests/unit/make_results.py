"""A folder of results that obeys every measurement rule, and programs run over it."""

import json
from itertools import product
from pathlib import Path

import pandas as pd
from make_records import make_record, sealed, write_parity, write_records
from workspace import job

import collect
from paragone.analysis import compliance, tidy
from paragone.analysis.compliance import Violation
from paragone.records import measurements, record

BACKENDS = ("torch", "tensorflow-mirrored", "torch-xla")
SEEDS = range(3)
MANIFEST = json.dumps(
    {
        "dataset": "fashion_mnist",
        "source": "real",
        "edition": "official",
        "arrays": {
            "train_inputs": {"shape": [60_000, 28, 28, 1]},
            "test_inputs": {"shape": [10_000, 28, 28, 1]},
        },
    }
)
COURSE = [0.7, 0.75, 0.81, 0.82]  # accuracies by epoch


def valid_records(seeds=SEEDS, backends=BACKENDS) -> list[dict]:
    """One run of fashion-conv a seed and backend."""
    goal = {"target": 0.8, "patience": 2}
    return [
        make_record(backend, seed=seed, accuracies=COURSE, epochs=len(COURSE), **goal)
        for seed, backend in product(seeds, backends)
    ]


def write_results(folder: Path, records: list[dict], **passed: bool | None) -> Path:
    """Records, with the digest that they have now, and the parity report of their workload; the folder."""
    write_records(folder, [sealed(made) for made in records])
    write_parity(folder, "fashion-conv", {**dict.fromkeys(BACKENDS, True), **passed})
    path = folder / "data/fashion_mnist/manifest.json"
    path.parent.mkdir(parents=True)
    path.write_text(MANIFEST)
    return folder


def find(folder: Path) -> list[Violation]:
    """The violations of all records in a folder, as of one experiment."""
    records = {path: record.read(path) for path in folder.glob("runs/*/record.json")}
    held = {path: record.read_contests(path) for path in folder.glob("contests/*/record.json")}
    verdicts = measurements.read_parity(sorted(folder.glob("parity/*.json")))
    return compliance.find("one", records, held, verdicts)


def run_collect(folder: Path, records: list[Path], parity: list[Path]) -> list[pd.DataFrame]:
    """The runs and epochs of records, as the program collects them."""
    outputs = {kind: folder / f"{kind}.parquet" for kind in ("runs", "epochs", "rounds")}
    outputs |= {"violations": folder / "compliance.csv"}
    collect.main(job(type="runs", experiment="one", records=records, parity=parity, **outputs))
    return [tidy.read(outputs[kind]) for kind in ("runs", "epochs")]


VALID = valid_records()
FIRST = VALID[0]["run"]  # torch, seed 0
