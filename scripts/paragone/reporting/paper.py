"""The paper: what the page shows, typeset by Typst as one PDF file."""

import argparse
import json
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import typst
from matplotlib.font_manager import findfont

from paragone.analysis import published, run_states
from paragone.analysis.prediction import NOT_COMPARABLE
from paragone.base.atomic_files import write_bytes
from paragone.reporting import exhibits, footnotes
from paragone.reporting.answers import Answer
from paragone.reporting.exhibits import Figure, Results, Section, Table, verdict_class
from paragone.reporting.fonts import OWN, use_fonts_for

LINES = 24  # of a table at most; the rest is in its CSV file
LARGEST = 17.0, 15.0  # width and height of a drawing, in centimeters
_MANY = 12  # columns above which all share the width of the page
_LONG = 28  # characters above which a column breaks its lines
_LEFT_OUT = ("note", "system")  # columns of a comparison that its caption and CSV file have
_RUN = (  # columns of the appendix, with their formats
    ("run", "{}"),
    ("status", "{}"),
    ("steady_examples_per_second", "{:,.0f}"),
    ("end_to_end_seconds", "{:,.1f}"),
    ("final_test_accuracy", "{:.4f}"),
)


def write(options: argparse.Namespace) -> None:
    """Write the PDF file, whole or not at all; the same results give the same bytes.

    Raises `UserError` if a file of the results is missing.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        text = json.dumps(_data(options, root), ensure_ascii=False)
        (root / "data.json").write_text(text, encoding="utf-8")
        (root / "paper.typ").write_text(
            files(__package__).joinpath("templates/paper.typ").read_text(encoding="utf-8")
        )
        # Typst has fonts for Latin, Greek and Cyrillic. The others are named, for the same bytes on machines
        # with the same of them.
        others = use_fonts_for([text])
        for file in (Path(findfont(OWN)), *others):
            (root / file.name).symlink_to(file)
        content = typst.compile(
            root / "paper.typ",
            root=root,
            font_paths=[root],
            ignore_system_fonts=True,
            timestamp=0,
        )
    write_bytes(content, options.output)


def _data(options: argparse.Namespace, root: Path) -> dict[str, Any]:
    """Return what the template reads, and copy the drawings to `root`."""
    results = exhibits.read(options)
    facts = footnotes.facts(results.table, options.preset)
    flaws, sources = published.read_sources(options.published)
    return {
        "title": "Which way of training is best here, and do the published numbers hold?",
        "subtitle": facts["Machine"],
        "synthetic": footnotes.synthetic(results.table),
        "abstract": [
            {
                "heading": part.heading,
                "note": part.note,
                "answers": [
                    _answer(each) for each in part.answers if each.outcome != NOT_COMPARABLE
                ],
            }
            for part in results.answers[:2]
        ],
        "method": exhibits.caption_text(options.captions / "page.rst").split("\n\n"),
        "facts": list(facts.items()),
        "sections": [_section(section, results, root) for section in results.sections],
        "flaws": flaws,
        "sources": sources,
        "runs": [
            {"title": section.title, "name": section.name, "lines": _lines(runs)}
            for section in results.sections
            if len(runs := _runs(results.table, section.name))
        ],
    }


def _section(section: Section, results: Results, root: Path) -> dict[str, Any]:
    answers = [
        _answer(answer)
        for part in results.answers
        for answer in part.answers
        if answer.experiment == section.name
    ]
    return {
        "name": section.name,
        "title": section.title,
        "has_runs": len(_runs(results.table, section.name)) > 0,
        "answers": answers[:8],  # the page has all
        "figures": [_figure(figure, section.name, root) for figure in section.figures],
        "tables": [_table(table, section.name) for table in section.tables],
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {**vars(answer), "kind": verdict_class(answer.outcome), "count": len(answer.runs)}


def _figure(figure: Figure, section: str, root: Path) -> dict[str, Any]:
    """Copy a drawing to `root`; width and height in centimeters are at most `LARGEST`."""
    name = f"{section}.{figure.path.name}"
    shutil.copyfile(figure.path, root / name)
    factor = min(1.0, *(most / size for most, size in zip(LARGEST, figure.size, strict=True)))
    width, height = (factor * size for size in figure.size)
    about = {"file": name, "label": figure.label.capitalize(), "caption": figure.caption_text}
    return {**about, "width": width, "height": height}


def _table(table: Table, section: str) -> dict[str, Any]:
    lines = max((len(block["lines"]) for block in table.cells["blocks"]), default=0)
    return {
        "label": table.label.capitalize(),
        "remarks": table.cells["remarks"],
        "blocks": [_block(block) for block in table.cells["blocks"]],
        "shown": min(lines, LINES),
        "left": max(lines - LINES, 0),
        "file": f"tables/{section}/{table.name}.csv",
    }


def _block(block: dict[str, Any]) -> dict[str, Any]:
    kept = [at for at, name in enumerate(block["columns"]) if name not in _LEFT_OUT]
    lines = [[line[at] for at in kept] for line in block["lines"][:LINES]]
    columns = [block["columns"][at] for at in kept]
    # Headings break at their words.
    longest = [
        max(map(len, [*name.replace(",", " ").split(), *(line[at] for line in lines)]), default=1)
        for at, name in enumerate(columns)
    ]
    outcomes = block["outcomes"] or [""] * len(lines)
    cells = [
        [
            {"text": cell, "kind": verdict_class(outcome) if name == "verdict" else ""}
            for name, cell in zip(columns, line, strict=True)
        ]
        for line, outcome in zip(lines, outcomes, strict=False)
    ]
    return {
        "heading": block["heading"],
        "columns": [name.replace("_", " ") for name in columns],
        "widths": [
            0 if length <= _LONG and len(columns) <= _MANY else min(length, 60)
            for length in longest
        ],
        "lines": cells,
    }


def _runs(table: pd.DataFrame, section: str) -> pd.DataFrame:
    return table[table["experiment"].str.split().map(lambda names: section in names)]


def _lines(runs: pd.DataFrame) -> list[list[str]]:
    shown = runs.assign(status=runs["status"].map(run_states.words_of))
    return [
        ["" if pd.isna(row[column]) else form.format(row[column]) for column, form in _RUN]
        for row in shown.to_dict("records")
    ]
