"""What page and paper show, read from files of results: answers, figures, tables and the table of runs."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docutils.core
import msgspec
import pandas as pd

from paragone.analysis import tidy
from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.reporting import answers
from paragone.reporting.inputs import Shown


@dataclass(frozen=True)
class Figure:
    """A figure: its caption as HTML, the SVG file at `path` and its text, its points as CSV."""

    name: str
    label: str
    caption: str
    path: Path
    drawing: str
    points: str

    @property
    def width(self) -> float:
        """The width of the drawing in centimeters."""
        (points,) = re.findall(r'\bwidth="([\d.]+)pt"', self.drawing[:2000])
        return float(points) / 72 * 2.54


@dataclass(frozen=True)
class Table:
    """A table: its `cells` as `tables` writes them for readers, its rows as CSV, its caption as HTML."""

    name: str
    label: str
    caption: str
    cells: dict[str, Any]
    rows: str


@dataclass(frozen=True)
class Section:
    """The figures and tables of an experiment, or of another measurement."""

    name: str
    title: str
    figures: list[Figure]
    tables: list[Table]


@dataclass(frozen=True)
class Results:
    """All that page and paper show. `table` has one row per run; `to_come`: titles of unfinished sections."""

    answers: list[answers.AnsweredQuestion]
    sections: list[Section]
    table: pd.DataFrame
    to_come: list[str]


class Entry(msgspec.Struct, frozen=True):
    """A section of the outline, with the labels of its figures and tables by name."""

    name: str
    title: str
    figures: dict[str, str]
    tables: dict[str, str]


class PageJob(Shown, kw_only=True):
    """The page, or the paper if `page` ends in .pdf, of a folder of answers, figures, tables and runs.

    `outline`: the sections in order. `captions`: rules/report/. `preset`: what the config was overlaid with.
    `left_out`: sentences on what was not asked for. `papers`: folders of those that it cites. `so_far`: of a
    workflow that still runs, the section that is finished.
    """

    results: Path
    outline: list[Entry]
    captions: Path
    preset: str = ""
    left_out: tuple[str, ...] = ()
    papers: tuple[Path, ...] = ()
    so_far: str = ""
    page: Path


def read(job: PageJob) -> Results:
    """Read results; of a workflow that still runs, those of the section that is finished.

    Raises `UserError` if a file of them is missing.
    """
    folder = job.results
    entries = [entry for entry in job.outline if job.so_far in ("", entry.name)]
    sections = [_section(entry, folder, job.captions) for entry in entries]
    if not job.so_far:
        table = tidy.read(folder / "tables/runs.parquet")
        return Results(answers.read(folder / "answers.json"), sections, table, [])
    files = [folder / "tables" / job.so_far / name for name in answers.FILES.values()]
    files = [path for path in files if path.exists()]
    titles = {entry.name: entry.title for entry in job.outline}
    shown = {job.so_far: titles.pop(job.so_far)}
    questions = answers.from_tables(shown, files, job.labels, job.baseline, job.left_out)
    return Results(questions, sections, tidy.read(files[0]), [*titles.values()])


def _section(entry: Entry, results: Path, captions: Path) -> Section:
    """Read the section of an entry of the outline. Raises `UserError` if one of its files is missing."""
    figures, tables = [], []
    for name, label in entry.figures.items():
        path = results / "figures" / entry.name / f"{name}.svg"
        text = caption(Path(plugins.caption("figures", name) or captions / f"plot_{name}.rst"))
        files = _text(path), _text(path.with_suffix(".csv"))
        figures.append(Figure(name, label, text, path, *files))
    for name, label in entry.tables.items():
        path = results / "tables" / entry.name / f"{name}.json"
        text = caption(Path(plugins.caption("tables", name) or captions / f"tabulate_{name}.rst"))
        cells, rows = json.loads(_text(path)), _text(path.with_suffix(".csv"))
        tables.append(Table(name, label, text, cells, rows))
    return Section(entry.name, entry.title, figures, tables)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; draw figures and tables first") from None


def caption(path: Path) -> str:
    """Return a caption of Snakemake's report, in reStructuredText, as HTML."""
    parts = docutils.core.publish_parts(
        _text(path),
        writer="html5",
        settings_overrides={"report_level": 4, "file_insertion_enabled": False},
    )
    return str(parts["body"])


def caption_text(path: Path) -> str:
    """Return a caption as plain text, with an empty line between paragraphs."""
    text: str = docutils.core.publish_doctree(_text(path)).astext()
    return "\n\n".join(part.replace("\n", " ") for part in text.split("\n\n"))
