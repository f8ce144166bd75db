"""Runs of the product, for benchmarks: a specification from config.yaml, trained by scripts/launch.py."""

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from paragone.base import tuning_variables
from paragone.base.errors import UserError
from paragone.config.expand import expand
from paragone.config.run_spec import Spec
from paragone.records import record
from paragone.records.run_metrics import steady
from paragone.records.run_record import ColdClocks, RunRecord

ROOT = Path(__file__).parents[1]


def configured() -> dict[str, Any]:
    """The content of config.yaml."""
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def published(system: str, condition: str) -> float:
    """The training time in seconds that a source states; published/published.csv says of what."""
    with (ROOT / "published/published.csv").open(newline="", encoding="utf-8") as file:
        (row,) = (
            row
            for row in csv.DictReader(file)
            if (row["system"], row["condition"], row["metric"])
            == (system, condition, "training_time")
        )
    return float(row["value"])


def specification(workload: str, backend: str, batch: int, replicas: int = 1, **cell: Any) -> Spec:
    """One run; `cell`: other keys of an experiment's matrix, division, precision or epochs, say."""
    row = {"backend": backend, "replicas": replicas, "global_batch": batch, **cell}
    experiment = {"workload": workload, "matrix": [row]}
    (spec,) = expand({**configured(), "experiments": {"one": experiment}}, "one")
    return spec


@dataclass(frozen=True)
class Data:
    """Where manifests and arrays are; the paths of `snakemake <results>/data/<name>/manifest.json`."""

    results: Path
    folder: Path

    def manifest(self, dataset: str) -> Path:
        """The manifest of a data set."""
        return self.results / f"data/{dataset}/manifest.json"

    def datasets(self) -> list[str]:
        """The data sets whose manifests are there."""
        return sorted(path.parent.name for path in self.results.glob("data/*/manifest.json"))

    def source(self, dataset: str) -> str:
        """Which data they are: real, of which edition, or synthetic."""
        found = json.loads(self.manifest(dataset).read_text())
        return f"{dataset} {found['source']} ({found['edition']})"

    def arrays(self, dataset: str) -> Path:
        """The folder of its arrays."""
        return self.folder / json.loads(self.manifest(dataset).read_text())["folder"]


@dataclass(frozen=True)
class Trained:
    """A run's record, and the seconds that its command took."""

    record: RunRecord
    seconds: float

    @property
    def examples_per_second(self) -> float:
        """Of the speed window, per-epoch constants left out."""
        found = steady(self.record.window, self.record.spec.global_batch)
        assert found  # it has a speed window
        return found.examples_per_second

    @property
    def cold(self) -> ColdClocks:
        """The clocks before the first step."""
        assert self.record.clocks  # it is completed
        return self.record.clocks.cold


def train(
    spec: Spec, data: Data, window: float = 0.0, variables: Mapping[str, str] | None = None
) -> Trained:
    """Train by launch.py without comparing first steps; `window`: seconds of the speed window."""
    manifest = data.manifest(spec.workload["dataset"])
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        made = launch(spec, manifest, data.folder, Path(folder), window, variables=variables)
        seconds = time.perf_counter() - begun
    if made.status != "completed":
        raise UserError(f"{spec.name}: {made.status}: {made.reason}")
    return Trained(made, seconds)


def launch(
    spec: Spec,
    manifest: Path,
    data_folder: Path,
    folder: Path,
    window: float,
    code: Path = ROOT,
    variables: Mapping[str, str] | None = None,
) -> RunRecord:
    """The record of a run, which launch.py of a checkout (`code`) trains in a folder."""
    line = [sys.executable, str(code / "scripts/launch.py"), "--spec", spec.to_json()]
    line += ["--manifest", str(manifest), "--data-folder", str(data_folder)]
    line += ["--checkpoints", str(folder / "checkpoints"), "--threads", "2"]
    line += ["--window-seconds", str(window), "--record", str(folder / "record.json")]
    line += ["--predictions", str(folder / "predictions.npz")]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, env=environment(variables))
    return record.read(folder / "record.json")


def environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what tunes a framework, and `variables`."""
    return tuning_variables.environment(dict(variables or {}))


def output_of(*line: object, variables: Mapping[str, str] | None = None) -> Any:
    """What a Python program prints in its last line, as JSON."""
    done = subprocess.run(
        [sys.executable, *map(str, line)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment({"PYTHONPATH": str(ROOT / "scripts"), **(variables or {})}),
    )
    return json.loads(done.stdout.splitlines()[-1])


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds, and bytes of memory at most."""

    seconds: float
    peak_bytes: int


def cost(*line: object, folder: Path | None = None) -> Cost:
    """What a command takes, which must succeed."""
    words = list(map(str, line))
    begun = time.perf_counter()
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # or it would be waited for again
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return Cost(time.perf_counter() - begun, 1024 * usage.ru_maxrss)


def elapsed(*line: object, folder: Path | None = None) -> float:
    """The seconds that a command takes, which must succeed."""
    return cost(*line, folder=folder).seconds
