"""Runs the figure programs over records made for the tests."""

import json
from pathlib import Path

import pandas as pd
from make_records import (
    BACKENDS,
    CLASS_NAMES,
    LABELS,
    PALETTE,
    make_record,
    write_parity,
    write_records,
)

import plot_batch_size_throughput
import plot_clocks
import plot_epoch_time
import plot_learning_curves
import plot_predictions
import plot_throughput
import plot_time_to_target
from paragone.analysis import tidy
from paragone.records import parity_reports

FIGURES = {
    "learning_curves": plot_learning_curves,
    "throughput": plot_throughput,
    "clocks": plot_clocks,
    "predictions": plot_predictions,
}
STUDIES = {
    "epoch_time": plot_epoch_time,
    "batch_size_throughput": plot_batch_size_throughput,
    "time_to_target": plot_time_to_target,
}
PUBLISHED = Path(__file__).parents[2] / "published"
THREE = list(BACKENDS)[:3]


def varied() -> list[dict]:
    """Six backends: two healthy, one that fails parity, and one of each unhappy status."""
    names = list(BACKENDS)
    made = [make_record(name, seed=seed) for name in names[:3] for seed in range(3)]
    made[4] = make_record(names[1], seed=1, status="diverged")
    made += [make_record(names[3], seed=seed, status="diverged") for seed in range(2)]
    made += [make_record(names[4], seed=seed, status="out_of_memory") for seed in range(2)]
    made += [make_record(names[5], status="unavailable")]
    return made


class Drawing:
    """Runs the figure programs over tables of given records, in a folder of its own."""

    def __init__(self, folder, made, **failed):
        verdicts = {**dict.fromkeys(BACKENDS, True), **failed}
        workloads = sorted({one["spec"]["workload"]["name"] for one in made})
        self.folder, self.made = folder, made
        self.paths = [path.with_name("predictions.npz") for path in write_records(folder, made)]
        reports = [write_parity(folder, workload, verdicts) for workload in workloads]
        parity = parity_reports.read_parity(reports)
        self.runs, self.epochs = tidy.tables(made, "one", parity)
        tidy.write(self.runs, folder / "runs.parquet")
        tidy.write(self.epochs, folder / "epochs.parquet")
        (folder / "manifest.json").write_text(json.dumps({"class_names": CLASS_NAMES}))

    def draw(self, figure, *extra, suffixes=("svg",), title="A title, batch 1,000"):
        outputs = [self.folder / "out" / f"{figure}.{suffix}" for suffix in suffixes]
        sidecar = self.folder / "out" / f"{figure}.csv"
        epochs = ["--epochs", self.folder / "epochs.parquet"]
        files = [f"--{name}={PUBLISHED / name}.csv" for name in ("published", "protocols")]
        more = {
            "learning_curves": epochs,
            "epoch_time": [*epochs, *files, f"--ratios={PUBLISHED / 'ratios.csv'}"],
            "batch_size_throughput": files,
            "time_to_target": epochs,
            "predictions": [
                *("--predictions", *(path for path in self.paths if path.exists())),
                *("--class-names", self.folder / "manifest.json"),
            ],
        }.get(figure, [])
        arguments = [
            *("--runs", self.folder / "runs.parquet", *more, *extra),
            *("--palette", *(f"{name}={color}" for name, color in PALETTE.items())),
            *("--labels", *(f"{name}={label}" for name, label in LABELS.items())),
            *("--title", title, "--output", *outputs, "--sidecar", sidecar),
        ]
        {**FIGURES, **STUDIES}[figure].main([str(argument) for argument in arguments])
        return outputs, pd.read_csv(sidecar)


def texts_of(figure) -> str:
    """All text of a figure, as a reader meets it, on one line."""
    figure.draw_without_rendering()
    found = [text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))]
    return " ".join(" ".join(found).split())
