"""The paper: answers, method, and a figure and a table per question, typeset in two columns by Typst."""

import html
import io
import json
import re
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import typst
from matplotlib.font_manager import findfont

from paragone.analysis.prediction import NOT_COMPARABLE
from paragone.base.atomic_files import write_bytes
from paragone.config.papers import read_paper
from paragone.reporting import answers, footnotes, page, sentences
from paragone.reporting.page import Figure, PageJob, Results, Section, Table
from paragone.reporting.style import OWN, use_fonts_for

ROWS = 12  # of a table at most; the page has all
_OF_PUBLISHED = ["metric", "epoch", "condition", "system", "published", "measured", "verdict"]


def write(job: PageJob) -> None:
    """Write the PDF file, whole or not at all; the same results give the same bytes.

    Raises `UserError` if a file of the results is missing.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        text = json.dumps(_data(job, root), ensure_ascii=False)
        (root / "data.json").write_text(text, encoding="utf-8")
        template = files(__package__).joinpath("templates/paper.typ")
        (root / "paper.typ").write_bytes(template.read_bytes())
        # Typst has fonts for Latin, Greek and Cyrillic. The others are named, for the same bytes on machines
        # with the same of them.
        for file in (Path(findfont(OWN)), *use_fonts_for([text])):
            (root / file.name).symlink_to(file)
        content = typst.compile(
            root / "paper.typ", root=root, font_paths=[root], ignore_system_fonts=True, timestamp=0
        )
    write_bytes(content, job.page)


def _data(job: PageJob, root: Path) -> dict[str, Any]:
    results = page.read(job)
    facts = footnotes.facts(results.table, job.preset)
    first = [part for part in results.answers if part.heading not in answers.LATER]
    cited = {folder.resolve().name: read_paper(folder) for folder in job.papers}
    published = [(name, part) for name, paper in cited.items() for part in paper.published.values()]
    flaws = [(name, flaw) for name, numbers in published for flaw in numbers.flaws]
    method = page.paragraphs(job.captions / "method.rst")
    return {
        "title": "Which way of training is best here,\nand do the published numbers hold?",
        "subtitle": footnotes.headline(results.table),
        "synthetic": footnotes.synthetic(results.table),
        "abstract": [
            (part.heading, " ".join(answer.paragraph for answer in part.answers)) for part in first
        ],
        # The first sentence of a paragraph is its heading.
        "method": [text.partition(". ")[::2] for text in method],
        "answers": [
            {"label": part.heading, **_grid(table, len(table))}
            for part in first
            if len(table := answers.table(part))
        ],
        "sections": [_section(section, results, root) for section in results.sections],
        "facts": list(facts.items()),
        "flaws": [*dict.fromkeys(flaws)],
        "sources": [(name, paper.blocks["title"]) for name, paper in cited.items()],
    }


def _section(section: Section, results: Results, root: Path) -> dict[str, Any]:
    runs = [run for part in results.answers for run in part.judged if run.differing]
    given = [answer for part in results.answers for answer in part.answers]
    texts = [run.sentence for run in runs if run.experiment == section.name]
    texts += [answer.paragraph for answer in given if answer.experiment == section.name]
    tables = [
        {"label": table.label.capitalize(), **_grid(_cells(table), len(table.cells["lines"]))}
        for table in section.tables[:1]
    ]
    further: list[Figure | Table] = [*section.figures[1:], *section.tables[1:]]
    return {
        "name": section.name,
        "title": section.title,
        "answers": [text.removeprefix(section.title).lstrip(": ") for text in texts],
        "figures": [_figure(figure, section.name, root) for figure in section.figures[:1]],
        "tables": tables,
        "more": [exhibit.label for exhibit in further],
    }


def _figure(figure: Figure, section: str, root: Path) -> dict[str, Any]:
    """Copy a drawing to `root`; its width is in centimeters, its notes are those of the SVG file."""
    path, name = figure.path.with_suffix(".pdf"), f"{section}.{figure.name}.pdf"
    shutil.copyfile(path, root / name)
    notes = re.search("<dc:description>(.*?)</dc:description>", figure.drawing[:20_000], re.DOTALL)
    return {
        "file": name,
        "label": figure.label.capitalize(),
        "notes": html.unescape(notes[1]) if notes else "",
        "width": figure.width,
    }


def _grid(cells: pd.DataFrame, total: int) -> dict[str, Any]:
    """Return the first cells of `total` rows for the template; what all share is in the notes instead."""
    cells = cells[:ROWS].drop_duplicates()
    shared = [name for name in cells if len(cells) > 1 and len(set(cells[name])) == 1]
    notes = [f"{name}: {cells[name].iloc[0]}." for name in shared if cells[name].iloc[0]]
    if total > len(cells):
        notes.append(f"{len(cells)} of {total} rows; the page has all.")
    shown = cells.drop(columns=shared)
    return {
        "notes": " ".join(note[:1].upper() + note[1:] for note in notes),
        "columns": [name.replace("_", " ") for name in shown],
        "widths": [max(map(len, shown[name]), default=1) for name in shown],
        "lines": shown.to_numpy().tolist(),
    }


def _cells(table: Table) -> pd.DataFrame:
    """Return the cells that fit into a column: of published numbers those with a verdict,
    if there are any, and what was measured by the series that judges."""
    shown = table.cells
    cells = pd.DataFrame(shown["lines"], columns=shown["columns"], dtype=object)
    rows = pd.read_csv(io.StringIO(table.rows), dtype=str, keep_default_na=False)
    if "judge" in rows:
        lines = zip(cells.to_dict("records"), rows["judge"], strict=True)
        cells["measured"] = [line.get(judge, "") for line, judge in lines]
        cells["metric"] = cells["metric"].map(sentences.noun)
        lines = zip(cells["condition"], cells["system"], strict=True)
        cells["condition"] = [text.removeprefix(f"{system}, ") for text, system in lines]
        able = ~cells["verdict"].isin([NOT_COMPARABLE, ""])
        cells = cells.loc[able if able.any() else able.index].filter(items=_OF_PUBLISHED)
    if "effect" in cells:  # a verdict names the better one of its row
        winners = cells["verdict"].str.partition(" is ")[0]
        for side in ("first", "second"):
            cells.loc[winners == cells[side], "verdict"] = f"{side} is better"
        cells["effect"] = cells["effect"].str.replace(" x", "")
    cells = cells.drop(columns=["why", "note", "p"], errors="ignore")  # these are for the page
    return cells.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}", regex=True)
