"""Results of a small experiment, drawn and tabulated, and the page made of them by its program."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from make_records import (
    LABELS,
    PALETTE,
    make_record,
    tabulated,
    write_parity,
    write_records,
)
from workspace import CONFIG, FOLDERS, ROOT, job

import answer
import draw
import write_page
from paragone.analysis import tidy
from paragone.records import measurements

BACKENDS = ("tensorflow-mirrored", "torch")
EXPERIMENT, TITLE = "tpu_fashion_conv", "Which <way> of training?"
FIGURES = {"variants": "speed of the variants", "learning_curves": "learning curves"}
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
    in_tables = folder / "tables"
    write_records(folder, made)
    report = write_parity(folder, "fashion-conv", dict.fromkeys(LABELS, True))
    runs, epochs = tabulated(made, measurements.read_parity([report]), EXPERIMENT)
    files = {kind: in_tables / EXPERIMENT / f"{kind}.parquet" for kind in ("runs", "epochs")}
    tidy.write(runs, files["runs"])
    tidy.write(epochs, files["epochs"])
    tidy.write(runs, in_tables / "runs.parquet")
    drawing = {
        "section": EXPERIMENT,
        "title": TITLE,
        "figures": {name: ["runs", "epochs"] for name in FIGURES},
        "tables": {name: ["runs", "epochs"] for name in TABLES},
        "run_names": [],
        "settings": {"baseline": "torch", "primary": {"experiment": EXPERIMENT, "metric": "speed"}},
        "published": EXPERIMENT,
        "paper": str(FOLDERS[EXPERIMENT]),
        "margins": CONFIG["margins"],
        "labels": LABELS,
        "palette": PALETTE,
    }
    draw.main(job(**drawing, results=folder))
    log = folder / "logs/runs" / f"{made[-1]['run']}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("first line\n" + "between\n" * 30 + "MemoryError: <the last line>\n")
    names = ("runs.parquet", "comparison.csv", "comparison.json", "differences.csv")
    keys = {"titles": {EXPERIMENT: TITLE}, "baseline": "torch", "labels": LABELS}
    keys["tables"] = [in_tables / EXPERIMENT / name for name in names]
    for kind, suffix in (("markdown", "md"), ("json", "json")):
        keys[kind] = folder / f"answers.{suffix}"
    answer.main(job(type="tables", **keys))
    page = folder / "index.html"
    write(folder, page)
    return Results(folder, runs, page)


def write(folder: Path, page: Path, **more: object) -> None:
    """Call the program on results."""
    shown = {"baseline": "torch", "labels": LABELS, "palette": PALETTE}
    _write(folder, page=page, **shown | more)


def write_pdf(folder: Path, paper: Path, **more: object) -> None:
    """Call the program that typesets."""
    _write(folder, papers=[FOLDERS[EXPERIMENT]], page=paper, **more)


def _write(folder: Path, **keys: object) -> None:
    shared = {"results": folder, "outline": OUTLINE, "preset": "presets/smoke.yaml"}
    write_page.main(job(**shared | {"captions": ROOT / "rules/report"} | keys))
