"""Runs of the product, for benchmarks: a specification from config.yaml, trained by scripts/launch.py."""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paragone.base import plugins, processes
from paragone.base.errors import UserError
from paragone.base.typed_json import write_job
from paragone.config.expand import spec_of
from paragone.config.papers import with_papers
from paragone.config.read import read
from paragone.config.run_spec import Spec
from paragone.config.schema import MatrixRow
from paragone.config.validate import validate
from paragone.records import record
from paragone.records.run_metrics import epochs_speed
from paragone.records.run_record import RunRecord
from paragone.workers import RunJob

ROOT = Path(__file__).parents[1]


def specification(
    workload: str, backend: str, global_batch: int, replicas: int = 1, **cell: Any
) -> Spec:
    """One run; `cell` has other keys of an experiment's matrix, such as precision or epochs."""
    config = read(ROOT / "config.yaml")
    with_papers(config, ROOT)
    plugins.use(config["plugins"])
    row = MatrixRow(backend=backend, replicas=replicas, global_batch=global_batch, **cell)
    return spec_of(validate(config), workload, row, "benchmark")


@dataclass(frozen=True)
class Data:
    """Where manifests and arrays are; the paths of `snakemake <results>/data/<name>/manifest.json`."""

    results: Path
    folder: Path

    def manifest(self, dataset: str) -> Path:
        """The manifest of a data set."""
        return self.results / f"data/{dataset}/manifest.json"

    def arrays(self, dataset: str) -> Path:
        """The folder of its arrays."""
        return self.folder / json.loads(self.manifest(dataset).read_text())["folder"]

    def sources(self) -> list[str]:
        """For each data set whether it is real, of which edition, or synthetic."""
        paths = sorted(self.results.glob("data/*/manifest.json"))
        manifests = [json.loads(path.read_text()) for path in paths]
        return [
            f"{manifest['dataset']} {manifest['source']} ({manifest['edition']})"
            for manifest in manifests
        ]


@dataclass(frozen=True)
class Trained:
    """A run's record, and the seconds that its command took."""

    record: RunRecord
    seconds: float

    @property
    def examples_per_second(self) -> float:
        """The speed of the epochs after the first."""
        speed = epochs_speed(self.record)
        assert speed  # the run has a second epoch
        return speed

    @property
    def test_accuracy(self) -> float:
        """After the last epoch."""
        accuracy = self.record.epochs[-1].test_accuracy
        assert isinstance(accuracy, float)
        return accuracy


def train(spec: Spec, data: Data) -> Trained:
    """Train by launch.py without comparing first steps."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = RunJob(
            spec=spec,
            manifest=data.manifest(spec.workload.dataset),
            data_folder=data.folder,
            threads=2,
            checkpoints=folder / "checkpoints",
            record=folder / "record.json",
            predictions=folder / "predictions.npz",
        )
        line = [sys.executable, ROOT / "scripts/launch.py", write_job(job, folder)]
        seconds = elapsed(*line, folder=folder)
        run = record.read(folder / "record.json")
    if run.status != "completed":
        raise UserError(f"{spec.name}: {run.status}: {run.reason}")
    return Trained(run, seconds)


def output_of(*line: object) -> Any:
    """The last line that a Python program prints, read as JSON."""
    done = subprocess.run(
        [sys.executable, *map(str, line)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=processes.environment({"PYTHONPATH": str(ROOT / "scripts")}),
    )
    return json.loads(done.stdout.splitlines()[-1])


def elapsed(*line: object, folder: Path) -> float:
    """The seconds that a command takes in a folder. Raises `CalledProcessError` if it fails."""
    begin = time.perf_counter()
    subprocess.run(
        [str(word) for word in line],
        check=True,
        cwd=folder,
        env=processes.environment({}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - begin
