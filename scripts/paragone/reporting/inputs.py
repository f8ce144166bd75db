"""What figures and tables read: files that a job names, each read when it is first used."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from paragone.analysis import tidy
from paragone.analysis.grouping import Series, series_of, sweeps_of
from paragone.analysis.prediction import read_spreads
from paragone.analysis.verdicts import Evidence
from paragone.base.errors import UserError
from paragone.base.jobs import Job
from paragone.config.numbers import SPREAD, Published, numbers_of
from paragone.config.papers import read_paper
from paragone.config.schema import Margin

# Kinds of files that a figure or table may read.
FILES = {
    "runs": "runs.parquet: one row per run, of one experiment or of several",
    "epochs": "epochs.parquet: one row per epoch, of one experiment or of several",
    "rounds": "rounds.parquet: one row per window of the contests of an experiment",
    "predictions": "predictions.npz of each run",
    "products": "matmul.parquet: one row per timed product",
}


def _table(kind: str) -> "cached_property[pd.DataFrame]":
    def joined(inputs: "Inputs") -> pd.DataFrame:
        return pd.concat([tidy.read(path) for path in inputs.paths(kind)], ignore_index=True)

    joined.__doc__ = FILES[kind]
    return cached_property(joined)


@dataclass(frozen=True)
class Inputs:
    """What one figure or table is made from.

    `files` by kind (`FILES`); `labels` and `palette` by backend; `settings` are values of the config.
    `published_experiment`: whose numbers in the folder `paper` to compare with, empty if there is none, and
    `margins` by metric: the differences that do not matter.
    """

    title: str
    files: dict[str, list[Path]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    palette: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    paper: Path | None = None
    published_experiment: str = ""
    margins: dict[str, Margin] = field(default_factory=dict)

    # The files of a kind as one table; `FILES` says what a row is.
    runs = _table("runs")
    epochs = _table("epochs")
    rounds = _table("rounds")
    products = _table("products")

    @property
    def windows(self) -> pd.DataFrame | None:
        """The same as `rounds`; None where no file of rounds is named."""
        return self.rounds if self.files.get("rounds") else None

    @cached_property
    def series(self) -> list[Series]:
        """The series of the runs: repeats of one cell that differ by seed alone."""
        return series_of(self.runs, self.labels, self.windows)

    def sweeps(self, *apart: str) -> list[Series]:
        """Return the runs of each backend over all cells that do not differ in the columns `apart`."""
        return sweeps_of(self.runs, self.labels, *apart, rounds=self.windows)

    @cached_property
    def numbers(self) -> Published:
        """What the paper has of the published experiment, nothing without one."""
        if not self.published_experiment:
            return Published([], {}, [])
        if self.paper is None:
            raise UserError("paper: missing; name the folder of the published numbers")
        return numbers_of(read_paper(self.paper).published, self.published_experiment, "published")

    @cached_property
    def evidence(self) -> Evidence:
        """Protocols, margins and spreads by which the published rows are judged."""
        spreads = read_spreads(self.paper / SPREAD) if self.paper else {}
        return Evidence(self.numbers.protocols, self.margins, spreads)

    def paths(self, name: str) -> list[Path]:
        """Return the files of one kind. Raises `UserError` if none is named."""
        if not self.files.get(name):
            raise UserError(f"{name}: missing in what it reads; {FILES[name]}")
        return self.files[name]


class Shown(Job, kw_only=True):
    """How backends are shown: the label and the color of each, and the one that others are compared with."""

    labels: dict[str, str] = msgspec.field(default_factory=dict)
    palette: dict[str, str] = msgspec.field(default_factory=dict)
    baseline: str = ""


class Drawing(Shown, kw_only=True):
    """What is drawn and tabulated of a section: the figures and tables, by name the kinds of files they read.

    `runs`: the names of its runs; `published`: whose numbers in the folder `paper` to compare with.
    `results`: the folder of all. The other fields are those of `Inputs`.
    """

    section: str
    title: str
    figures: dict[str, list[str]]
    tables: dict[str, list[str]]
    runs: list[str]
    settings: dict[str, Any]
    published: str
    paper: Path | None
    margins: dict[str, Margin]
    results: Path

    def inputs(self, reads: Iterable[str]) -> Inputs:
        """Return what a figure or table is made from that reads these kinds of files of the results."""
        results, table = self.results, self.results / "tables" / self.section
        files = {kind: [table / f"{kind}.parquet"] for kind in ("runs", "epochs", "rounds")}
        files["products"] = [results / "tables/device_matmul/matmul.parquet"]
        files["predictions"] = [results / f"runs/{run}/predictions.npz" for run in self.runs]
        return Inputs(
            self.title,
            {kind: paths for kind, paths in files.items() if kind in reads},
            self.labels,
            self.palette,
            self.settings,
            self.paper,
            self.published,
            self.margins,
        )
