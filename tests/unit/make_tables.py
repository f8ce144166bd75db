"""Runs the program that writes tables, and the calibration that two of them read."""

import json
from pathlib import Path

import pandas as pd
from make_records import LABELS, typed, write_parity
from make_scaling import MODELS, all_reduce_result

import calibrate
import collect_measurements
import write_table
from paragone.analysis import tidy
from paragone.records import parity_reports

PUBLISHED = Path(__file__).parents[2] / "published"
NO_QUESTION = {
    "primary": {"experiment": "another", "metric": "speed"},
    "until": None,
}
FORMATS = ("csv", "markdown", "latex", "cells")


def write(
    folder: Path, name: str, *options: object, labels: dict[str, str] = LABELS, **files: object
) -> dict[str, Path]:
    """Write the table `name` into `folder`; the file of each format.

    `files`: by kind of input; one that is a table is written first. `options`: further ones.
    """
    outputs = {kind: folder / f"{name}.{kind}" for kind in FORMATS}
    arguments = [name, *options, "--labels", *(f"{key}={label}" for key, label in labels.items())]
    if name == "differences" and not any("--settings" in str(option) for option in options):
        arguments += ["--settings", json.dumps(NO_QUESTION)]
    if "--title" not in options:
        arguments += ["--title", "A title"]
    for kind, given in files.items():
        if isinstance(given, pd.DataFrame):
            path = folder / f"{kind}.parquet"
            tidy.write(given, path)
            given = path
        arguments += [f"--{kind}", *(given if isinstance(given, list) else [given])]
    arguments += [f"--{kind}={path}" for kind, path in outputs.items()]
    write_table.main([str(argument) for argument in arguments])
    return outputs


def beside(experiment: str) -> list[object]:
    """The options of a table that shows published rows."""
    return ["--published", PUBLISHED, "--published-experiment", experiment]


def calibrated(folder: Path, strong: list[dict], weak: list[dict]) -> dict[str, list[Path]]:
    """The input files of scaling figures and tables, by kind: of two experiments and their models."""
    parity = parity_reports.read_parity(
        [write_parity(folder, "fashion-cnn", dict.fromkeys(MODELS, True))]
    )
    runs = []
    for how, made in (("strong", strong), ("weak", weak)):
        runs.append(folder / f"{how}.parquet")
        tidy.write(tidy.tables(typed(made), f"{how}_scaling", parity)[0], runs[-1])
    results = []
    for backend in MODELS:
        results.append(folder / f"{backend}.json")
        results[-1].write_text(json.dumps(all_reduce_result(backend, noise=0.05)))
    parquet = folder / "allreduce.parquet"
    _call(collect_measurements, "all-reduces", "--results", *results, "--output", parquet)
    names = {"models": "models.json", "steps": "steps.parquet", "all-reduce-fit": "fit.parquet"}
    paths = {kind: folder / name for kind, name in names.items()}
    outputs = [f"--{kind}={path}" for kind, path in paths.items()]
    _call(calibrate, "--runs", *runs, "--all-reduces", parquet, *outputs)
    return {"runs": runs, **{kind: [path] for kind, path in paths.items()}}


def _call(program: object, *arguments: object) -> None:
    program.main([str(argument) for argument in arguments])
