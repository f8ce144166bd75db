"""Rows of `make bench` on the workflow around the runs: overhead of a job, drawing, planning."""

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from product import ROOT, Data, elapsed
from rows import Row, at_most, stated

from paragone.records import record
from paragone.records.run_metrics import end_to_end

SNAKEMAKE = (sys.executable, "-m", "snakemake", "--cores", "2", "--snakefile")
BUNDLE = ROOT / "records/amd-epyc-2-cores.zip"  # of the default: 66 runs
RUNS = 6  # whose overhead is averaged


def rows(data: Data) -> list[Callable[[], list[Row]]]:
    """The measurements, in order; each makes its rows."""
    return [partial(overhead, data), drawing, planning]


def overhead(data: Data) -> list[Row]:
    """The seconds of a run's job that the run's own clocks do not have."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        matrix = [{"backend": "torch", "replicas": 1, "global_batch": 128}]
        block = {"matrix": matrix, "repeats": RUNS, "epochs": 1, "steps_per_epoch": 10}
        config = {
            "experiments": {"one_device": block},
            "only": ["one_device"],
            "data": {"folder": str(data.folder)},
        }
        (folder / "few.yaml").write_text(yaml.safe_dump(config))
        target = "results/tables/one_device/runs.parquet"
        elapsed(*SNAKEMAKE, ROOT / "Snakefile", target, "--configfile", "few.yaml", folder=folder)
        jobs = [job for job in finished(folder) if job["rule"] == "train"]
        walls = sum(job["endtime"] - job["starttime"] for job in jobs)
        clocks = [end_to_end(record.read(path)) for path in folder.glob("results/runs/*/*.json")]
        seconds_per_job = (walls - sum(seconds for seconds in clocks if seconds)) / len(clocks)
    part = "overhead per run: the train job less the run's end-to-end clock"
    measured = f"{seconds_per_job:.2f} s (mean of n = {len(clocks)})"
    return [Row(part, "", measured, "0.5 s", at_most(0.5, [seconds_per_job]))]


def finished(folder: Path) -> list[dict[str, Any]]:
    """What Snakemake noted of each finished job; a job with several outputs has several notes."""
    noted = (path for path in (folder / ".snakemake/metadata").rglob("*") if path.is_file())
    jobs = {}
    for job in (json.loads(path.read_text()) for path in noted):
        jobs[job["rule"], job["job_hash"]] = job
    return list(jobs.values())


def drawing() -> list[Row]:
    """All that follows the training of a default run; then the same call with nothing to do."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as other:
        (Path(other) / "Snakefile").write_text('rule all:\n    output: touch("done")\n')
        smallest = (*SNAKEMAKE, "Snakefile")
        elapsed(*smallest, folder=Path(other))
        options = ("all", "--config", f"bundles=[{BUNDLE}]")
        call = (*SNAKEMAKE, ROOT / "workflows/bundles/Snakefile", *options)
        seconds = elapsed(*call, folder=Path(name))
        jobs = len(finished(Path(name)))
        turns = [
            (elapsed(*call, folder=Path(name)), elapsed(*smallest, folder=Path(other)))
            for _ in range(3)
        ]
        nothing, least = zip(*turns, strict=True)
    part = f"tables, figures, checks and page of a default run, from its bundle, {jobs} jobs"
    idle = "the same call with nothing to do"
    return [
        Row(part, "", stated([seconds], "s", 0), "70 s", at_most(70, [seconds])),
        Row(
            idle,
            f"a workflow of one rule: {stated(least, 's', 1)}",
            stated(nothing, "s", 1),
            "2 s",
            at_most(2, nothing),
        ),
    ]


def planning() -> list[Row]:
    """A dry run of 10,000 runs."""
    with tempfile.TemporaryDirectory() as name:
        config = {"experiments": {"one_device": {"repeats": 2500}}}
        (Path(name) / "many.yaml").write_text(yaml.safe_dump(config))
        call = (*SNAKEMAKE, ROOT / "Snakefile", "all", "--configfile", "many.yaml")
        seconds = elapsed(*call, "--dry-run", "--quiet", folder=Path(name))
    measured = stated([seconds], "s", 1)
    return [Row("dry run of 10,000 runs", "", measured, "60 s", at_most(60, [seconds]))]
