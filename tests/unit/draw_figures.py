"""Draws figures and writes tables of records made for the tests."""

import io
from pathlib import Path

import pandas as pd
from judge_rows import MARGINS
from make_records import (
    BACKENDS,
    LABELS,
    PALETTE,
    make_record,
    tabulated,
    write_parity,
    write_records,
)
from matplotlib.figure import Figure
from workspace import FOLDERS

from paragone.analysis import tidy
from paragone.records import measurements
from paragone.reporting import figures, tables
from paragone.reporting.inputs import Inputs

FORMATS = {"csv": "csv", "markdown": "md", "cells": "json"}  # of tables, and suffixes
SETTINGS = {"baseline": "torch", "primary": {"experiment": "another", "metric": "speed"}}
FIGURES = ("learning_curves", "variants", "clocks", "predictions")


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
    """Draws figures from files by kind, into the folder `out` of a folder of its own; writes tables into it.

    `files`: as in `Inputs`; a table is written first. `settings`: of all figures.
    """

    def __init__(self, folder: Path, settings: dict | None = None, **files: object) -> None:
        self.folder, self.settings = folder, settings or SETTINGS
        self._points: dict[tuple[str, str], pd.DataFrame] = {}
        self.files: dict[str, list[Path]] = {}
        for kind, given in files.items():
            if isinstance(given, pd.DataFrame):
                tidy.write(given, folder / f"{kind}.parquet")
                given = [folder / f"{kind}.parquet"]
            self.files[kind] = given

    @classmethod
    def of(cls, folder: Path, made: list[dict], **failed: bool) -> "Drawing":
        """Of the runs of records; `failed`: parity by backend."""
        verdicts = {**dict.fromkeys(BACKENDS, True), **failed}
        workloads = sorted({one["spec"]["workload"]["name"] for one in made})
        reports = [write_parity(folder, workload, verdicts) for workload in workloads]
        runs, epochs = tabulated(made, measurements.read_parity(reports))
        paths = [path.with_name("predictions.npz") for path in write_records(folder, made)]
        predictions = [path for path in paths if path.exists()]
        drawing = cls(folder, runs=runs, epochs=epochs, predictions=predictions)
        drawing.made = made
        return drawing

    def inputs(self, beside: str = "", title: str = "A title, batch 1,000") -> Inputs:
        """The inputs of a figure, with the published rows of the experiment `beside`."""
        published = {"paper": FOLDERS.get(beside), "published": beside, "margins": MARGINS}
        shown = {"labels": LABELS, "palette": PALETTE, "settings": self.settings}
        return Inputs(title=title, files=self.files, **shown, **published)

    def figure(self, name: str, beside: str = "", **about: str) -> Figure:
        """The figure, not written to any file."""
        module, inputs = figures.load(name), self.inputs(beside, **about)
        return module.draw(module.points(inputs), inputs)

    def shown(self, name: str, beside: str = "") -> pd.DataFrame:
        """What the sidecar of the figure holds, without drawing it."""
        if (name, beside) not in self._points:
            points = figures.load(name).points(self.inputs(beside))
            text = points.loc[:, ~points.columns.str.startswith("_")].to_csv(index=False)
            self._points[name, beside] = pd.read_csv(io.StringIO(text))
        return self._points[name, beside]

    def draw(
        self, name: str, suffixes: tuple[str, ...] = ("svg",)
    ) -> tuple[list[Path], pd.DataFrame]:
        """The files that are written, and what its sidecar holds."""
        folder = self.folder / "out"
        figures.write(name, self.inputs(), folder, [f".{suffix}" for suffix in suffixes])
        paths = [folder / f"{name}.{suffix}" for suffix in suffixes]
        return paths, pd.read_csv(folder / f"{name}.csv")

    def table(self, name: str, beside: str = "") -> dict[str, Path]:
        """The file of each format of a table, which is written."""
        tables.write(name, self.inputs(beside), self.folder)
        return {kind: self.folder / f"{name}.{suffix}" for kind, suffix in FORMATS.items()}


def texts_of(figure: Figure) -> str:
    """All text of a figure, as a reader meets it, on one line."""
    figure.draw_without_rendering()
    found = [text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))]
    return " ".join(" ".join(found).split())
