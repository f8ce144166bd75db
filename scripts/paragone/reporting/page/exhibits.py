"""What a section of the page exhibits: its figures with their twins, and its tables, read from results."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import docutils.core
import pandas as pd

from paragone.analysis.pairwise import METRICS, NOT_COMPARED
from paragone.analysis.prediction import AT_CHANCE, DIFFERS, REPRODUCED, UNDECIDED
from paragone.analysis.verdicts import NOT_COMPARABLE
from paragone.base.errors import UserError
from paragone.reporting import modules
from paragone.reporting.page import charts

# Beside their words, verdicts have a color and a sign: a class of the page's style sheet each.
_CLASSES = {
    REPRODUCED: "good",
    DIFFERS: "bad",
    AT_CHANCE: "bad",
    UNDECIDED: "open",
    NOT_COMPARABLE: "none",
    NOT_COMPARED: "none",
    "not run": "bad",
}
_PLAIN = "!$%&'()*+,-./:;=?@[]^_`{|}~ <>"  # may stand unescaped in a data: address between quotes


@dataclass(frozen=True)
class Figure:
    """A figure: the drawing as an address, its points as CSV, and its twin where it has one.

    `series`: the color of each series of the twin.
    """

    name: str
    label: str
    caption: str
    drawing: str
    points: str
    chart: dict[str, Any] | None
    series: dict[str, str]


@dataclass(frozen=True)
class Table:
    """A table: its cells for readers (`cells`, see `markup`) and its rows as CSV."""

    name: str
    label: str
    caption: str
    cells: dict[str, Any]
    rows: str


@dataclass(frozen=True)
class Section:
    """An experiment, or a measurement beside them, and what it exhibits."""

    name: str
    title: str
    figures: list[Figure]
    tables: list[Table]


def read(outline: dict[str, Any], results: Path, captions: Path, colors: dict[str, str]) -> Section:
    """The section that an entry of the outline names: `name`, `title`, and the labels of its `figures` and
    `tables` by name. Raises `UserError` if one of their files is missing."""
    name = outline["name"]
    figures = [
        _figure(results / "figures" / name / figure, label, captions, colors)
        for figure, label in outline["figures"].items()
    ]
    tables = [
        _table(results / "tables" / name / table, label, captions)
        for table, label in outline["tables"].items()
    ]
    return Section(name, outline["title"], figures, tables)


def verdict_class(words: str) -> str:
    """The class of a cell with a verdict; that of a winner or of equality if it is none of the list."""
    if words.startswith("equal"):
        return "equal"
    if any(words.endswith(metric.words) for metric in METRICS):
        return "good"
    return _CLASSES.get(words, "none")


def _figure(stem: Path, label: str, captions: Path, colors: dict[str, str]) -> Figure:
    points = _text(stem.with_suffix(".csv"))
    make = getattr(modules.load("figures", stem.name), "twin", None)
    chart, series = None, {}
    if make:
        twin = make(pd.read_csv(stem.with_suffix(".csv")))
        chart, series = charts.chart(twin, colors), charts.series_colors(twin, colors)
    drawing = _address(_text(stem.with_suffix(".svg")))
    return Figure(
        stem.name,
        label,
        caption(captions / f"plot_{stem.name}.rst"),
        drawing,
        points,
        chart,
        series,
    )


def _table(stem: Path, label: str, captions: Path) -> Table:
    cells = json.loads(_text(stem.with_suffix(".json")))
    about = caption(captions / f"tabulate_{stem.name}.rst")
    return Table(stem.name, label, about, cells, _text(stem.with_suffix(".csv")))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; draw figures and tables first") from None


def _address(svg: str) -> str:
    """A drawing as a `data:` address: as an image, its names do not meet those of other drawings."""
    start = svg.index("<svg")
    return "data:image/svg+xml," + quote(
        svg[start:].replace("\n", " ").replace('"', "'"), safe=_PLAIN
    )


def caption(path: Path) -> str:
    """The caption of the report as HTML."""
    parts = docutils.core.publish_parts(
        _text(path),
        writer="html5",
        settings_overrides={"report_level": 4, "file_insertion_enabled": False},
    )
    body: str = parts["body"]
    return body
