"""What figures and tables are made from: files named on the command line, read when first asked for."""

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from paragone.analysis import published, tidy
from paragone.analysis.grouping import Series, series_of, sweeps_of
from paragone.analysis.published import Protocol, Ratio, Row
from paragone.analysis.scaling.model import Calibrated, read_models
from paragone.base.errors import UserError

# What a figure or table may read, as `--<name> FILE ...`.
FILES = {
    "runs": "runs.parquet of one experiment or of several",
    "epochs": "epochs.parquet of one experiment or of several",
    "predictions": "predictions.npz of each run",
    "products": "matmul.parquet: one row per timed product",
    "all-reduces": "allreduce.parquet: one row per timed all-reduce",
    "models": "models.json: the calibrated cost models",
    "steps": "steps.parquet: one row per cell of the scaling experiments, measured and predicted",
    "all-reduce-fit": "allreduce_fit.parquet: one row per all-reduce, measured and fitted",
}


@dataclass(frozen=True)
class Inputs:
    """The files that one figure or table reads, how backends are shown, and whose published rows it has.

    `labels`, `palette`: by backend. `settings`: the values of the config that it depends on.
    `published_experiment`: empty where nothing published stands beside it.
    """

    title: str
    files: dict[str, list[Path]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    palette: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    published_folder: Path | None = None
    published_experiment: str = ""

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run."""
        return _joined(self.paths("runs"))

    @cached_property
    def epochs(self) -> pd.DataFrame:
        """One row per epoch."""
        return _joined(self.paths("epochs"))

    @cached_property
    def products(self) -> pd.DataFrame:
        """One row per timed product of matrices."""
        return _joined(self.paths("products"))

    @cached_property
    def all_reduces(self) -> pd.DataFrame:
        """One row per timed all-reduce."""
        return _joined(self.paths("all-reduces"))

    @cached_property
    def steps(self) -> pd.DataFrame:
        """One row per cell of the scaling experiments: its step in seconds, measured and predicted."""
        return _joined(self.paths("steps"))

    @cached_property
    def all_reduce_fit(self) -> pd.DataFrame:
        """One row per case of the all-reduces: measured, predicted and fitted seconds."""
        return _joined(self.paths("all-reduce-fit"))

    @cached_property
    def series(self) -> list[Series]:
        """The series of the runs."""
        return series_of(self.runs, self.labels)

    def sweeps(self, *apart: str) -> list[Series]:
        """The runs of each backend together, but for what is kept `apart`."""
        return sweeps_of(self.runs, self.labels, *apart)

    @cached_property
    def models(self) -> list[Calibrated]:
        """The cost models that could be calibrated."""
        return [one for one in read_models(self.paths("models")[0]) if one.model]

    @cached_property
    def published(self) -> list[Row]:
        """The rows of the published experiment; none without one."""
        return self.published_rows(self.published_experiment)

    @cached_property
    def protocols(self) -> dict[str, Protocol]:
        """The conditions of the published experiment, by system."""
        return self.published_protocols(self.published_experiment)

    @cached_property
    def ratios(self) -> list[Ratio]:
        """The ratios of published numbers that are compared."""
        return self.published_ratios(self.published_experiment)

    @cached_property
    def flaws(self) -> list[str]:
        """The known flaws of the source."""
        return self.published_flaws(self.published_experiment)

    def paths(self, name: str) -> list[Path]:
        """The files of one kind. Raises `UserError` if none is named."""
        if not self.files.get(name):
            raise UserError(f"--{name}: missing; this figure or table reads {FILES[name]}")
        return self.files[name]

    def published_rows(self, experiment: str) -> list[Row]:
        """The published rows of an experiment; none without one."""
        return published.read_rows(self._published("published"), experiment) if experiment else []

    def published_protocols(self, experiment: str) -> dict[str, Protocol]:
        """The published conditions of an experiment, by system."""
        if not experiment:
            return {}
        return published.read_protocols(self._published("protocols"), experiment)

    def published_ratios(self, experiment: str) -> list[Ratio]:
        """The ratios of an experiment's published rows."""
        if not experiment:
            return []
        rows = self.published_rows(experiment)
        return published.read_ratios(self._published("ratios"), experiment, rows)

    def published_flaws(self, experiment: str) -> list[str]:
        """The known flaws of an experiment's source."""
        return published.read_flaws(self._published("flaws"), experiment) if experiment else []

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
    parser.add_argument("--labels", nargs="*", default=[], metavar="backend=Label")
    parser.add_argument("--palette", nargs="*", default=[], metavar="backend=#hex")
    parser.add_argument("--published", type=Path, metavar="FOLDER", help="published/")
    parser.add_argument("--published-experiment", default="", help="whose rows; empty for none")
    parser.add_argument("--settings", type=_object, default={}, help="values of the config, JSON")


def from_options(options: argparse.Namespace) -> Inputs:
    """The inputs that a command line names."""
    return Inputs(
        title=options.title,
        files={name: getattr(options, name.replace("-", "_")) for name in FILES},
        labels=pairs(options.labels),
        palette=pairs(options.palette),
        settings=options.settings,
        published_folder=options.published,
        published_experiment=options.published_experiment,
    )


def pairs(texts: Iterable[str]) -> dict[str, str]:
    """`["a=b", ...]` as a dictionary. Raises `UserError` for a text without `=`."""
    found = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator:
            raise UserError(f"{text!r} is not of the form name=value")
        found[key] = value
    return found


def _joined(paths: list[Path]) -> pd.DataFrame:
    return pd.concat([tidy.read(path) for path in paths], ignore_index=True)


def _object(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"not a JSON object: {text}")
    return found
