"""Rows of `make bench` on the workflow around the runs: probes, jobs, drawing, planning, collecting."""

import json
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from product import ROOT, Data, configured, cost, elapsed
from rows import NO, Row, at_most, stated

from paragone.records import record
from paragone.records.run_metrics import end_to_end
from paragone.records.run_record import RunRecord

BUNDLE = ROOT / "records/amd-epyc-2-cores.zip"  # of the default: 66 runs
SNAKEMAKE = (sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--cores", "2")
RUNS = 6  # whose overhead is averaged
MANY = 10_000


def rows(data: Data) -> list[Callable[[], list[Row]]]:
    """The measurements, in order; each makes its rows."""
    return [
        partial(probes, data),
        partial(overhead, data),
        drawing,
        *(partial(dry_run, count, limit, n) for count, limit, n in ((1000, 8, 3), (MANY, 60, 1))),
        collecting,
    ]


def probes(data: Data) -> list[Row]:
    """The parity gate of the default: the reference and all backends, on all workloads."""
    workloads = sorted({*configured()["workloads"]})
    targets = [f"results/parity/{name}.json" for name in workloads]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifests = [f"results/data/{one}/manifest.json" for one in configured()["datasets"]]
        weights = "results/weights/mobilenet-v2.json"
        elapsed(*SNAKEMAKE, *manifests, weights, *shared(data), folder=folder)
        seconds = elapsed(*SNAKEMAKE, *targets, *shared(data), folder=folder)
        jobs = len([one for one in finished(folder) if one["rule"].startswith("probe_")])
    return [
        Row(
            f"probes of all backends of the default, {jobs} processes, with Snakemake's start",
            "",
            stated([seconds], "s", 0),
            "50 s",
            at_most(50, [seconds]),
        )
    ]


def overhead(data: Data) -> list[Row]:
    """What a run costs beside its own clocks."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        matrix = [{"backend": "torch", "replicas": 1, "global_batch": 128}]
        block = {"matrix": matrix, "repeats": RUNS, "epochs": 1, "steps_per_epoch": 10}
        config = {"experiments": {"one_device": block}, "only": ["one_device"]}
        (folder / "few.yaml").write_text(yaml.safe_dump(config))
        target = "results/tables/one_device/runs.parquet"
        elapsed(*SNAKEMAKE, target, "--configfile", "few.yaml", *shared(data), folder=folder)
        jobs = [one for one in finished(folder) if one["rule"] == "train"]
        walls = sum(one["endtime"] - one["starttime"] for one in jobs)
        clocks = [end_to_end(record.read(path)) for path in folder.glob("results/runs/*/*.json")]
        each = (walls - sum(one for one in clocks if one)) / len(clocks)
    return [
        Row(
            "overhead per run: the train job less the run's end-to-end clock",
            "",
            f"{each:.2f} s (mean of n = {len(clocks)})",
            "0.5 s",
            at_most(0.5, [each]),
        )
    ]


def shared(data: Data) -> list[str]:
    """Options of a workflow elsewhere that uses these data."""
    return ["--config", f"data={{folder: {json.dumps(str(data.folder.resolve()))}}}"]


def finished(folder: Path) -> list[dict[str, Any]]:
    """What Snakemake noted of each finished job, once."""
    noted = (path for path in (folder / ".snakemake/metadata").rglob("*") if path.is_file())
    found = {}
    for one in map(json.loads, (path.read_text() for path in noted)):
        found[(one["rule"], one["job_hash"])] = one
    return list(found.values())


def drawing() -> list[Row]:
    """All that follows the training of a default run; then the same call with nothing to do."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        call = (
            *SNAKEMAKE,
            "-s",
            "workflows/bundles/Snakefile",
            "all",
            "--config",
            f"bundles=[{BUNDLE}]",
        )
        seconds = elapsed(*call, folder=folder)
        jobs = len(finished(folder))
        nothing = [elapsed(*call, folder=folder) for _ in range(3)]
    return [
        Row(
            f"tables, figures, checks and page of a default run, from its bundle, {jobs} jobs",
            "",
            stated([seconds], "s", 0),
            "70 s",
            at_most(70, [seconds]),
        ),
        Row(
            "the same call with nothing to do",
            "",
            stated(nothing, "s", 1),
            "3 s",
            at_most(3, nothing),
        ),
    ]


def dry_run(count: int, limit: int, n: int) -> list[Row]:
    """What planning costs."""
    with tempfile.TemporaryDirectory() as name:
        call = planning_of(count, Path(name))
        found = [elapsed(*call, folder=Path(name)) for _ in range(n)]
    part = f"dry run of {count:,} runs"
    return [Row(part, "", stated(found, "s", 1), f"{limit} s", at_most(limit, found))]


def planning_of(count: int, folder: Path) -> tuple[object, ...]:
    """The call that plans so many runs, in this folder."""
    config = {"experiments": {"one_device": {"repeats": count // 4}}}
    (folder / "many.yaml").write_text(yaml.safe_dump(config))
    return (*SNAKEMAKE, "all", "--configfile", "many.yaml", "--dry-run", "--quiet")


def collecting() -> list[Row]:
    """Many records to one table and one figure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps = [cost(*collecting_of(MANY, folder))]
        plot = [sys.executable, ROOT / "scripts/plot.py", "throughput"]
        plot += ["--runs", folder / "runs.parquet"]
        plot += ["--title", "one", "--labels", "torch=PyTorch eager", "--palette", "torch=#0072B2"]
        plot += ["--output", folder / "figure.svg", "--sidecar", folder / "figure.csv"]
        steps.append(cost(*plot))
    seconds = sum(one.seconds for one in steps)
    size = max(one.peak_bytes for one in steps) / 2**30
    return [
        Row(
            f"collecting {MANY:,} records, and a figure of them",
            "",
            f"{stated([seconds], 's', 0)}, {size:.1f} GiB at most",
            "60 s, 2 GiB",
            at_most(60, [seconds]) if size < 2 else NO,
        )
    ]


def collecting_of(count: int, folder: Path) -> list[object]:
    """The call that collects so many records, which are in this folder then."""
    paths = records(count, folder)
    call = [sys.executable, ROOT / "scripts/collect.py", "runs", "--experiment", "one"]
    call += ["--parity", folder / "parity/fashion-cnn.json", "--runs", folder / "runs.parquet"]
    return [*call, "--epochs", folder / "epochs.parquet", "--records", *paths]


def records(count: int, folder: Path) -> list[Path]:
    """So many records: one of the bundle's, with a seed each."""
    with zipfile.ZipFile(BUNDLE) as bundle:
        bundle.extract("parity/fashion-cnn.json", folder)
        name = next(
            one
            for one in bundle.namelist()
            if one.startswith("runs/fashion-cnn.torch.r1.b128.s0") and one.endswith("record.json")
        )
        first = RunRecord.from_json(json.loads(bundle.read(name)))
    paths = []
    for seed in range(count):
        spec = replace(first.spec, seed=seed)
        path = folder / f"runs/{spec.name}/record.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(replace(first, spec=spec, run=spec.name).sealed().to_json()))
        paths.append(path)
    return paths
