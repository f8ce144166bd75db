"""What a section of page and paper exhibits: its figures with their twins, and its tables, from results."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docutils.core
import pandas as pd

from paragone.analysis.pairwise import BETTER, EQUAL, NOT_COMPARED, PARTLY
from paragone.analysis.prediction import AT_CHANCE, DIFFERS, REPRODUCED, UNDECIDED
from paragone.analysis.verdicts import NOT_COMPARABLE
from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.reporting import modules
from paragone.reporting.answers import NOT_RUN
from paragone.reporting.twin import Twin

# Beside their words, verdicts have a color and a sign: a class of the page's style sheet each.
_CLASSES = {
    BETTER: "good",
    EQUAL: "equal",
    REPRODUCED: "good",
    DIFFERS: "bad",
    AT_CHANCE: "bad",
    UNDECIDED: "open",
    PARTLY: "open",
    NOT_COMPARABLE: "none",
    NOT_COMPARED: "none",
    NOT_RUN: "bad",
}


@dataclass(frozen=True)
class Figure:
    """A figure: the drawing at `path`, its points as CSV, its caption as HTML and as text."""

    name: str
    label: str
    caption: str
    caption_text: str
    path: Path
    points: str

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the drawing, in centimeters."""
        width, height = re.findall(r'\b(?:width|height)="([\d.]+)pt"', _text(self.path)[:2000])
        return float(width) / 72 * 2.54, float(height) / 72 * 2.54

    @property
    def drawing(self) -> str:
        """The drawing, SVG."""
        return _text(self.path)

    @property
    def twin(self) -> Twin | None:
        """Its interactive twin, where it has one and something to show."""
        make = getattr(modules.load("figures", self.name), "twin", None)
        found = make(pd.read_csv(self.path.with_suffix(".csv"))) if make else None
        return found if found is not None and len(found.rows) else None


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


def read(outline: dict[str, Any], results: Path, captions: Path) -> Section:
    """The section that an entry of the outline names: `name`, `title`, and the labels of its `figures` and
    `tables` by name. Raises `UserError` if one of their files is missing."""
    name = outline["name"]
    figures = [
        _figure(results / "figures" / name / figure, label, captions)
        for figure, label in outline["figures"].items()
    ]
    tables = [
        _table(results / "tables" / name / table, label, captions)
        for table, label in outline["tables"].items()
    ]
    return Section(name, outline["title"], figures, tables)


def verdict_class(verdict: str) -> str:
    """The class of a verdict on the page."""
    return _CLASSES.get(verdict, "none")


def _figure(stem: Path, label: str, captions: Path) -> Figure:
    path = stem.with_suffix(".svg")
    about = _caption_of("figures", stem.name, captions / f"plot_{stem.name}.rst")
    _text(path)  # a missing one is told at once
    points = _text(stem.with_suffix(".csv"))
    return Figure(stem.name, label, caption(about), caption_text(about), path, points)


def _table(stem: Path, label: str, captions: Path) -> Table:
    cells = json.loads(_text(stem.with_suffix(".json")))
    about = _caption_of("tables", stem.name, captions / f"tabulate_{stem.name}.rst")
    return Table(stem.name, label, caption(about), cells, _text(stem.with_suffix(".csv")))


def _caption_of(kind: str, name: str, own: Path) -> Path:
    """The file of a caption: beside the module of a plugin, or the project's `own`."""
    found = plugins.caption(kind, name)
    return Path(found) if found else own


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; draw figures and tables first") from None


def caption(path: Path) -> str:
    """The caption of the report as HTML."""
    parts = docutils.core.publish_parts(
        _text(path),
        writer="html5",
        settings_overrides={"report_level": 4, "file_insertion_enabled": False},
    )
    body: str = parts["body"]
    return body


def caption_text(path: Path) -> str:
    """The same as plain text, its paragraphs apart."""
    found: str = docutils.core.publish_doctree(_text(path)).astext()
    return "\n\n".join(part.replace("\n", " ") for part in found.split("\n\n"))
