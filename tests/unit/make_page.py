"""Results of a small experiment, drawn and tabulated, and the page made of them by its program."""

from pathlib import Path
from types import SimpleNamespace

from make_records import LABELS, PALETTE, make_record, tabulated, write_records
from workspace import CONFIG, FOLDERS, ROOT, job

import answer
import draw
import write_page
from paragone.analysis import tidy

BACKENDS = ("tensorflow-mirrored", "torch")
EXPERIMENT, TITLE = "tpu_fashion_conv", "Which <way> of training?"
FIGURES = {"variants": "speed of the variants", "learning_curves": "learning curves"}
TABLES = {"comparison": "published and measured", "differences": "which backend is better"}
OUTLINE = [{"name": EXPERIMENT, "title": TITLE, "figures": FIGURES, "tables": TABLES}]


def records(seeds: int = 7) -> list[dict]:
    """One backend 1.25 times as fast as another, and a run without memory."""
    speeds = {"tensorflow-mirrored": 10_000, "torch": 8000}
    made = [
        make_record(name, seed=seed, epochs=5, speed=speeds[name] * (1 + seed / 1000))
        for seed in range(seeds)
        for name in BACKENDS
    ]
    return [*made, make_record("torch-ddp", status="out_of_memory")]


def make_results(folder: Path, made: list[dict] | None = None) -> SimpleNamespace:
    """Tables, figures, answers and the `page` of records, in `folder`; their `runs`; a log of a failure."""
    made = made or records()
    in_tables = folder / "tables"
    write_records(folder, made)
    runs, epochs = tabulated(made, experiment=EXPERIMENT)
    tidy.write(runs, in_tables / EXPERIMENT / "runs.parquet")
    tidy.write(epochs, in_tables / EXPERIMENT / "epochs.parquet")
    tidy.write(runs, in_tables / "runs.parquet")
    drawing = {
        "section": EXPERIMENT,
        "title": TITLE,
        "figures": {name: ["runs", "epochs"] for name in FIGURES},
        "tables": {name: ["runs", "epochs"] for name in TABLES},
        "files": {
            kind: [in_tables / EXPERIMENT / f"{kind}.parquet"] for kind in ("runs", "epochs")
        },
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
    return SimpleNamespace(folder=folder, runs=runs, page=page)


def write(folder: Path, page: Path, **more: object) -> None:
    """Call the program on results."""
    shown = {"baseline": "torch", "labels": LABELS, "palette": PALETTE}
    shared = {"results": folder, "outline": OUTLINE, "preset": "presets/smoke.yaml", "page": page}
    write_page.main(job(**shown | shared | {"captions": ROOT / "rules/report"} | more))
