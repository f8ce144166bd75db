"""The page, written: templates filled with what results hold, everything it needs inside the one file."""

import base64
import gzip
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from paragone.analysis import run_states
from paragone.base.atomic_files import write_text
from paragone.reporting.exhibits import verdict_class
from paragone.reporting.page import charts
from paragone.reporting.page.runs import Run
from paragone.reporting.results import Results

# Of the table of all runs: heading, column, form.
_INDEX = (
    ("workload", "workload", "{}"),
    ("backend", "backend", "{}"),
    ("replicas", "replicas", "{}"),
    ("batch", "global_batch", "{:,}"),
    ("seed", "seed", "{}"),
    ("examples/s", "steady_examples_per_second", "{:,.0f}"),
    ("end to end s", "end_to_end_seconds", "{:,.1f}"),
    ("test accuracy", "final_test_accuracy", "{:.4f}"),
    ("parity", "parity", "{}"),
)


@dataclass(frozen=True)
class Page:
    """All that the page shows.

    `labels`: by backend; `colors`: by label; `facts`: what is true of all runs, by name; `synthetic`: the
    warning if some data were, else empty.
    """

    results: Results
    runs: list[Run]
    labels: dict[str, str]
    colors: dict[str, str]
    facts: dict[str, str]
    synthetic: str
    method: str


def write(page: Page, path: Path) -> None:
    """Write the page, whole or not at all; the same bytes for the same results."""
    templates, results = _templates(), page.results
    invalid = set(results.table.loc[results.table["status"] != "completed", "run"])
    text = templates.get_template("page.html").render(
        facts=page.facts,
        synthetic=page.synthetic,
        method=page.method,
        to_come=results.to_come,
        answers=results.answers,
        failures=[run for run in page.runs if run.record.run in invalid],
        sections=results.sections,
        titles={one.name: one.title for one in results.sections},
        series=_series(page),
        figures_of={one.name: one.figures for one in results.sections},
        index=_index(results.table, page.labels),
        index_columns=[heading for heading, _, _ in _INDEX],
        packed=Markup(_packed(page, templates.get_template("run.html"))),
        scripts={
            "charts": _inline(charts.libraries()),
            "tables": _inline(_tables_script()),
            "page": _inline(_template("page.js")),
        },
        style={
            "tables": _inline(_bundled("dt_bundle.css")),
            "page": _inline(_template("page.css")),
        },
    )
    write_text(text, path)


def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["verdict_class"] = verdict_class
    return environment


def _index(table: pd.DataFrame, labels: dict[str, str]) -> list[dict[str, str]]:
    rows = []
    # By the names that figures and answers have, so that a search finds them.
    for row in table.assign(backend=table["backend"].replace(labels)).to_dict("records"):
        about = {"run": row["run"], "status": run_states.words_of(row["status"])}
        for heading, column, form in _INDEX:
            about[heading] = "" if pd.isna(row[column]) else form.format(row[column])
        rows.append(about)
    return rows


def _series(page: Page) -> dict[str, dict[str, str]]:
    """The colors of the series of each figure that has a twin, by its place."""
    return {
        f"{section.name}.{figure.name}": charts.series_colors(figure.twin, page.colors)
        for section in page.results.sections
        for figure in section.figures
        if figure.twin
    }


def _packed(page: Page, template: jinja2.Template) -> str:
    """Sections of runs, charts and files, drawings among them, as compressed JSON in base64."""
    content: dict[str, dict[str, Any]] = {
        "runs": {run.record.run: template.render(run=run) for run in page.runs},
        "charts": {},
        "files": {"runs.csv": page.results.table.to_csv(index=False)},
    }
    for section in page.results.sections:
        for figure in section.figures:
            content["files"][f"{section.name}.{figure.name}.svg"] = figure.drawing
            content["files"][f"{section.name}.{figure.name}.csv"] = figure.points
            if figure.twin:
                drawn = charts.chart(figure.twin, page.colors)
                content["charts"][f"{section.name}.{figure.name}"] = drawn
        for table in section.tables:
            content["files"][f"{section.name}.{table.name}.csv"] = table.rows
    packed = gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 9, mtime=0)
    return base64.b64encode(packed).decode()


@cache
def _template(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _bundled(name: str) -> str:
    """DataTables as the package itables brings it."""
    return files("itables").joinpath("html", name).read_text(encoding="utf-8")


def _tables_script() -> str:
    """The module of DataTables, its default export as a global name."""
    script = _bundled("dt_bundle.js")
    (name,) = re.findall(r"export\{.*?(\w+) as default.*?\}", script)
    return f"{script}\n;window.DataTable = {name};"


def _inline(text: str) -> Markup:
    """Code for a script or style element, which its first closing tag would end."""
    return Markup(re.sub(r"</(script|style)", r"<\\/\1", text, flags=re.IGNORECASE))
