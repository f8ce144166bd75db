"""Results of a small experiment, drawn and tabulated, and the page made of them by its program."""

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from judge_rows import MARGINS
from make_records import LABELS, PALETTE, make_record, typed, write_parity, write_records
from make_tables import NO_QUESTION
from workspace import FOLDERS, ROOT

import answer
import write_page
from paragone.analysis import tidy
from paragone.records import parity_reports
from paragone.reporting import figures, markup, style, tables
from paragone.reporting.inputs import Inputs

BACKENDS = ("tensorflow-mirrored", "torch")
EXPERIMENT, TITLE = "tpu_fashion_conv", "Which <way> of training?"
FIGURES = {"throughput": "steady throughput", "learning_curves": "learning curves"}
TABLES = {"comparison": "published and measured", "differences": "which backend is better"}
OUTLINE = [{"name": EXPERIMENT, "title": TITLE, "figures": FIGURES, "tables": TABLES}]


@dataclass
class Results:
    """A folder of results, its runs, and the page in it."""

    folder: Path
    runs: pd.DataFrame
    page: Path


def records(seeds: int = 7) -> list[dict]:
    """One backend 1.25 times as fast as another, and a run without memory."""
    speeds = {"tensorflow-mirrored": 10_000, "torch": 8000}
    made = [
        make_record(name, seed=seed, epochs=5, speed=speeds[name] * (1 + seed / 1000))
        for seed in range(seeds)
        for name in BACKENDS
    ]
    return [*made, make_record("torch-ddp", status="out_of_memory")]


def make_results(folder: Path, made: list[dict] | None = None) -> Results:
    """Tables, figures, answers and the page of records, in `folder`; the log of the run that failed."""
    made = made or records()
    in_tables, in_figures = folder / "tables", folder / "figures"
    write_records(folder, made)
    report = write_parity(folder, "fashion-conv", dict.fromkeys(LABELS, True))
    runs, epochs = tidy.tables(typed(made), EXPERIMENT, parity_reports.read_parity([report]))
    files = {
        "runs": in_tables / EXPERIMENT / "runs.parquet",
        "epochs": in_tables / EXPERIMENT / "epochs.parquet",
    }
    tidy.write(runs, files["runs"])
    tidy.write(epochs, files["epochs"])
    tidy.write(runs, in_tables / "runs.parquet")
    settings = {**NO_QUESTION, "primary": {"experiment": EXPERIMENT, "metric": "speed"}}
    given = {kind: [path] for kind, path in files.items()}
    beside = (FOLDERS[EXPERIMENT], EXPERIMENT, MARGINS)
    inputs = Inputs(TITLE, given, LABELS, PALETTE, settings, *beside)
    for name in FIGURES:
        module, stem = figures.load(name), in_figures / EXPERIMENT / name
        points = module.points(inputs)
        outputs = [stem.with_suffix(f".{suffix}") for suffix in ("svg", "pdf")]
        style.save(module.draw(points, inputs), outputs)
        tidy.write(points.loc[:, ~points.columns.str.startswith("_")], stem.with_suffix(".csv"))
    for name in TABLES:
        stem = in_tables / EXPERIMENT / name
        outputs = [stem.with_suffix(f".{suffix}") for suffix in ("csv", "md", "tex", "json")]
        markup.write(tables.load(name)(inputs), outputs)
    log = folder / "logs/runs" / f"{made[-1]['run']}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("first line\n" + "between\n" * 30 + "MemoryError: <the last line>\n")
    answers = [folder / f"answers.{suffix}" for suffix in ("md", "html", "json")]
    _call(
        answer,
        *("all", "--titles", TITLE, "--runs", files["runs"]),
        *("--differences", in_tables / EXPERIMENT / "differences.csv"),
        *("--comparisons", in_tables / EXPERIMENT / "comparison.csv"),
        *("--markdown", answers[0], "--html", answers[1], "--json", answers[2]),
        *("--baseline", "torch", "--labels", *(f"{key}={value}" for key, value in LABELS.items())),
    )
    page = folder / "index.html"
    write(folder, page)
    return Results(folder, runs, page)


def write(folder: Path, page: Path, *more: object) -> None:
    """Call the program on results."""
    _call(
        write_page,
        *_shared(folder),
        *("--logs", folder / "logs/runs"),
        *("--labels", *(f"{key}={value}" for key, value in LABELS.items())),
        *("--palette", *(f"{key}={value}" for key, value in PALETTE.items())),
        *("--baseline", "torch", "--output", page),
        *more,
    )


def write_pdf(folder: Path, paper: Path, *more: object) -> None:
    """Call the program that typesets."""
    beside = "--papers", FOLDERS[EXPERIMENT]
    _call(write_page, *_shared(folder), *beside, "--output", paper, *more)


def _shared(folder: Path) -> list[object]:
    return [
        *("--results", folder, "--outline", json.dumps(OUTLINE)),
        *("--captions", ROOT / "rules/report", "--preset", "presets/smoke.yaml"),
    ]


def _call(program: object, *arguments: object) -> None:
    program.main([str(argument) for argument in arguments])
