"""What figures and tables are made from: files named on the command line, read when first asked for."""

import argparse
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from paragone.analysis import published, tidy
from paragone.analysis.grouping import Series, series_of, sweeps_of
from paragone.analysis.published import Protocol, Ratio, Row
from paragone.analysis.verdicts import Evidence
from paragone.base.errors import UserError

# What a figure or table may read, as `--<name> FILE ...`.
FILES = {
    "runs": "runs.parquet: one row per run, of one experiment or of several",
    "epochs": "epochs.parquet: one row per epoch, of one experiment or of several",
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
    """The files that one figure or table reads, how backends are shown, and whose published rows it has.

    `labels`, `palette`: by backend. `settings`: the values of the config that it depends on.
    `published_experiment`: empty where there is nothing published to compare with.
    """

    title: str
    files: dict[str, list[Path]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    palette: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    published_folder: Path | None = None
    published_experiment: str = ""

    # All files of a kind as one table; `FILES` says what a row is.
    runs = _table("runs")
    epochs = _table("epochs")
    products = _table("products")

    @cached_property
    def series(self) -> list[Series]:
        """The series of the runs."""
        return series_of(self.runs, self.labels)

    def sweeps(self, *apart: str) -> list[Series]:
        """The runs of each backend together, but for what is kept `apart`."""
        return sweeps_of(self.runs, self.labels, *apart)

    @cached_property
    def published(self) -> list[Row]:
        """The rows of the published experiment; none without one."""
        name = self.published_experiment
        return published.read_rows(self._published("published"), name) if name else []

    @cached_property
    def protocols(self) -> dict[str, Protocol]:
        """The conditions of the published experiment, by system."""
        name = self.published_experiment
        return published.read_protocols(self._published("protocols"), name) if name else {}

    @cached_property
    def evidence(self) -> Evidence:
        """What the published rows are judged by."""
        if not self.published_experiment:
            return Evidence({})
        margins = published.read_margins(self._published("margins"))
        return Evidence(self.protocols, margins, published.read_spreads(self._published("spread")))

    @property
    def ratios(self) -> list[Ratio]:
        """The ratios of published numbers that are compared."""
        name, rows = self.published_experiment, self.published
        return published.read_ratios(self._published("ratios"), name, rows) if name else []

    @property
    def flaws(self) -> list[str]:
        """The known flaws of the source."""
        name = self.published_experiment
        return published.read_flaws(self._published("flaws"), name) if name else []

    def published_beside(self, experiment: str) -> "Inputs":
        """The same inputs beside another published experiment."""
        return replace(self, published_experiment=experiment)

    def paths(self, name: str) -> list[Path]:
        """The files of one kind. Raises `UserError` if none is named."""
        if not self.files.get(name):
            raise UserError(f"--{name}: missing; this figure or table reads {FILES[name]}")
        return self.files[name]

    def _published(self, name: str) -> Path:
        if self.published_folder is None:
            raise UserError("--published: missing; name the folder published/ of the project")
        return self.published_folder / f"{name}.csv"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that every figure and table has."""
    parser.add_argument("name", help="module in scripts/paragone/reporting/")
    parser.add_argument("--title", required=True)
    for name, text in FILES.items():
        parser.add_argument(f"--{name}", type=Path, nargs="*", default=[], help=text)
    for name, form in (("labels", "backend=Label"), ("palette", "backend=#hex")):
        parser.add_argument(f"--{name}", type=pair, nargs="*", default=[], metavar=form)
    parser.add_argument("--published", type=Path, metavar="FOLDER", help="published/")
    parser.add_argument("--published-experiment", default="", help="whose rows; empty for none")
    parser.add_argument("--settings", type=_object, default={}, help="values of the config, JSON")


def from_options(options: argparse.Namespace) -> Inputs:
    """The inputs that a command line names."""
    return Inputs(
        title=options.title,
        files={name: getattr(options, name.replace("-", "_")) for name in FILES},
        labels=dict(options.labels),
        palette=dict(options.palette),
        settings=options.settings,
        published_folder=options.published,
        published_experiment=options.published_experiment,
    )


def pair(text: str) -> tuple[str, str]:
    """Key and value of an option of the form key=value."""
    key, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    return key, value


def _object(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"not a JSON object: {text}")
    return found
