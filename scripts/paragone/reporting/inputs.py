"""What figures and tables read: files that a job names, each read when it is first used."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from paragone.analysis import tidy
from paragone.analysis.grouping import Series, series_of, sweeps_of
from paragone.analysis.product_tables import with_share
from paragone.base.errors import UserError
from paragone.base.typed_json import Job
from paragone.config.numbers import Published, numbers_of
from paragone.config.papers import read_paper
from paragone.config.schema import Margin


class Shown(Job, kw_only=True, dict=True):
    """How backends are shown: the label and the color of each, and the one that others are compared with."""

    labels: dict[str, str] = msgspec.field(default_factory=dict)
    palette: dict[str, str] = msgspec.field(default_factory=dict)
    baseline: str = ""


class Inputs(Shown, kw_only=True):
    """What one figure or table is made from.

    `files` by kind: runs, epochs and rounds (windows of contests) of an experiment, predictions of its runs,
    products of matrices. `labels` and `palette` by backend; `settings` are values of the config.
    `published`: the experiment whose numbers in the folder `paper` to compare with, empty if there is none,
    and `margins` by metric: the differences that do not matter.
    """

    title: str
    files: dict[str, list[Path]] = msgspec.field(default_factory=dict)
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    paper: Path | None = None
    published: str = ""
    margins: dict[str, Margin] = msgspec.field(default_factory=dict)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The runs, a row each; with shares of a peak where products are read, too."""
        runs = self._table("runs")
        return with_share(runs, self.products) if self.files.get("products") else runs

    @cached_property
    def epochs(self) -> pd.DataFrame:
        """The epochs of the runs, a row each."""
        return self._table("epochs")

    @cached_property
    def products(self) -> pd.DataFrame:
        """The timed products of matrices, a row each."""
        return self._table("products")

    @cached_property
    def rounds(self) -> pd.DataFrame | None:
        """The windows of contests, a row each; None where no file of rounds is named."""
        return self._table("rounds") if self.files.get("rounds") else None

    @cached_property
    def series(self) -> list[Series]:
        """The series of the runs: repeats of one cell that differ by seed alone."""
        return series_of(self.runs, self.labels, self.rounds)

    def sweeps(self, *apart: str) -> list[Series]:
        """Return the runs of each backend over all cells that do not differ in the columns `apart`."""
        return sweeps_of(self.runs, self.labels, *apart, rounds=self.rounds)

    @cached_property
    def numbers(self) -> Published:
        """What the paper has of the published experiment, nothing without one."""
        if not self.published or self.paper is None:
            return Published([], {}, [])
        return numbers_of(read_paper(self.paper).published, self.published, "published")

    def paths(self, name: str) -> list[Path]:
        """Return the files of one kind. Raises `UserError` if none is named."""
        if not self.files.get(name):
            raise UserError(f"{name}: missing in what it reads; declare it in `reads`")
        return self.files[name]

    def _table(self, kind: str) -> pd.DataFrame:
        return pd.concat([tidy.read(path) for path in self.paths(kind)], ignore_index=True)


class Drawing(Inputs, kw_only=True):
    """What is drawn and tabulated of a section: the figures and tables, by name the kinds of files they read.

    `results`: the folder of all.
    """

    section: str
    figures: dict[str, list[str]]
    tables: dict[str, list[str]]
    results: Path

    def reading(self, kinds: Iterable[str]) -> Inputs:
        """Return what a figure or table is made from that reads these kinds of files alone."""
        read = {kind: paths for kind, paths in self.files.items() if kind in kinds}
        return msgspec.structs.replace(self, files=read)
